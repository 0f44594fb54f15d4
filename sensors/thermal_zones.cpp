#include "sensors/thermal_zones.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "sensors/look_again.h"

namespace gearshift {
namespace {

constexpr std::string_view kThermal = "/sys/class/thermal";
constexpr std::int64_t kPoweredDown = -256000;
constexpr std::int64_t kColdest = -50000;
constexpr std::int64_t kHottest = 150000;
// What a zone that counts whole degrees reads on a board that is not frozen; as milli-degrees it is
// a band of 0.15 C, which a cold chip crosses within moments.
constexpr std::int64_t kHottestWhole = kHottest / 1000;
// What one that counts tenths of a degree reads lies within these. As milli-degrees they are a band
// of 2 C about the freezing point, in which a cold chip may be for long: it is none that counts
// tenths once it has shown more.
constexpr std::int64_t kColdestTenths = kColdest / 100;
constexpr std::int64_t kHottestTenths = kHottest / 100;
constexpr int kTries = 3;
constexpr std::size_t kMaxZones = 255;
constexpr int kMaxTrips = 16;

char lower(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool begins_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool in_whole_degrees(std::int64_t value) { return value > 0 && value <= kHottestWhole; }
bool in_tenths(std::int64_t value) { return value > 0 && value <= kHottestTenths; }
bool in_range(std::int64_t value) { return value >= kColdest && value <= kHottest; }

struct Candidate {
  std::string folder;
  std::string type;
  bool taken = false;
};

// All zones by number, so that zone 10 follows zone 9.
std::vector<Candidate> candidates(const Sysroot& root) {
  constexpr std::string_view kStem = "thermal_zone";
  std::vector<std::string> names;
  for (std::string& name : root.list(kThermal)) {
    if (name.starts_with(kStem)) names.push_back(std::move(name));
  }
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  std::vector<Candidate> all;
  for (const std::string& name : names) {
    const std::string folder = std::string(kThermal) + '/' + name;
    all.push_back({folder, root.try_read(folder + "/type").value_or("")});
  }
  return all;
}

std::optional<std::int64_t> integer(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

// Lower passive trips only raise alerts (hot-surface-alert of Orin), or are where a governor begins
// to watch. Without any the board is stopped at the hot or critical one.
std::optional<std::int64_t> throttling_mc(const Sysroot& root, const std::string& folder) {
  std::optional<std::int64_t> passive;
  std::optional<std::int64_t> stops;
  for (int number = 0; number < kMaxTrips; ++number) {
    const std::string stem = folder + "/trip_point_" + std::to_string(number);
    const auto type = root.try_read(stem + "_type");
    const auto temperature_mc = integer(root.try_read(stem + "_temp"));
    if (!type || !temperature_mc || *temperature_mc <= 0 || *temperature_mc > kHottest) continue;
    if (*type == "passive") passive = std::max(passive.value_or(0), *temperature_mc);
    if (*type == "hot" || *type == "critical") {
      stops = std::min(stops.value_or(kHottest), *temperature_mc);
    }
  }
  return passive ? passive : stops;
}

}  // namespace

std::unique_ptr<ThermalZones> ThermalZones::open(const std::vector<std::string>& prefixes,
                                                 Sysroot& root,
                                                 std::vector<std::string>& findings) {
  std::vector<Zone> zones;
  std::vector<Candidate> all = candidates(root);
  for (const std::string& prefix : prefixes) {
    bool found = false;
    for (auto& [folder, type, taken] : all) {
      if (zones.size() == kMaxZones) break;
      if (taken || !begins_with(type, prefix)) continue;
      taken = true;
      found = true;
      try {
        zones.push_back({folder, type, root.open(folder + "/temp"), throttling_mc(root, folder)});
        findings.push_back("temperature: zone " + type + " at " + folder);
      } catch (const FileError& error) {
        findings.push_back("temperature: zone " + type + ": " + error.what());
      }
    }
    if (!found) {
      findings.push_back("temperature: no zone of type " + prefix + "* below " +
                         std::string(kThermal));
    }
  }
  if (zones.empty()) return nullptr;
  return std::unique_ptr<ThermalZones>(new ThermalZones(std::move(zones), root));
}

bool ThermalZones::open_in(Zone& zone, const std::string& folder) {
  if (root_.try_read(folder + "/type") != zone.type) return false;
  std::optional<DeviceFile> temperature = root_.try_open(folder + "/temp");
  if (!temperature) return false;
  if (!temperature->try_read_whole_integer() && temperature->last_error() != EAGAIN) return false;
  zone.folder = folder;
  zone.error = 0;
  zone.shows_milli = false;
  zone.temperature = std::move(*temperature);
  return true;
}

// A block that is powered down is none of these.
void ThermalZones::look_again(Time now) {
  const auto lost = [](const Zone& zone) { return zone.error != 0 && zone.error != EAGAIN; };
  if (std::none_of(zones_.begin(), zones_.end(), lost)) return;
  if (looked_ && now - *looked_ < kLookEvery) return;
  looked_ = now;
  for (Zone& zone : zones_) {
    if (!lost(zone) || open_in(zone, zone.folder)) continue;
    // Where it still is in its place, no other one is the same.
    if (root_.try_read(zone.folder + "/type") == zone.type) continue;
    for (const Candidate& candidate : candidates(root_)) {
      const bool taken = std::any_of(zones_.begin(), zones_.end(), [&](const Zone& other) {
        return other.folder == candidate.folder && !lost(other);
      });
      if (!taken && open_in(zone, candidate.folder)) break;
    }
  }
}

void ThermalZones::read(Time now, std::vector<Reading>& readings) {
  look_again(now);
  for (std::size_t i = 0; i < zones_.size(); ++i) {
    Zone& zone = zones_[i];
    Reading reading{
        Quantity::temperature, ReadingState::missing, false, static_cast<std::uint8_t>(i), 0, now};
    std::optional<std::int64_t> value;
    for (int tried = 0; tried < kTries && !value; ++tried) {
      value = zone.temperature.try_read_whole_integer();
      zone.error = zone.temperature.last_error();
      if (zone.error != EAGAIN) break;
    }
    if ((!value && zone.error == EAGAIN) || value == kPoweredDown) {
      reading.state = ReadingState::off;
    } else if (value) {
      reading.value = *value;
      const bool beyond_tenths = *value < kColdestTenths || *value > kHottestTenths;
      zone.shows_milli = zone.shows_milli || (in_range(*value) && beyond_tenths);
      const bool other_unit = in_whole_degrees(*value) || (in_tenths(*value) && !zone.shows_milli);
      const bool plausible = in_range(*value) && !other_unit;
      reading.state = plausible ? ReadingState::ok : ReadingState::absurd;
    }
    readings.push_back(reading);
  }
}

std::vector<ThermalZone> ThermalZones::look() {
  std::vector<Reading> readings;
  read({}, readings);
  std::vector<ThermalZone> all;
  for (const Reading& reading : readings) {
    const Zone& zone = zones_[reading.channel];
    all.push_back({reading.channel, zone.type, zone.throttled_mc, reading});
  }
  return all;
}

std::string ThermalZones::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok || reading.channel >= zones_.size()) return "";
  const Zone& zone = zones_[reading.channel];
  const std::string place = zone.type + " at " + zone.temperature.path() + ": ";
  if (reading.state == ReadingState::absurd) {
    const std::string value = std::to_string(reading.value);
    if (in_tenths(reading.value) && !in_whole_degrees(reading.value)) {
      return place + value +
             " is not believed in milli-degrees Celsius until the zone shows over " +
             std::to_string(kHottestTenths) + ": it may count tenths of a degree";
    }
    return place + value + " is no temperature in milli-degrees Celsius" +
           (in_whole_degrees(reading.value) ? " but one in whole degrees or tenths" : "");
  }
  if (reading.state == ReadingState::off) return place + "the block is powered down";
  if (zone.error == EINVAL) return place + "no whole number of milli-degrees Celsius (EINVAL)";
  const char* name = strerrorname_np(zone.error);
  return place + (name != nullptr ? name : "cannot be read");
}

}  // namespace gearshift
