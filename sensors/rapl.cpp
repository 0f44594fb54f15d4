#include "sensors/rapl.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "sensors/look_again.h"

namespace gearshift {
namespace {

constexpr std::string_view kPowercap = "/sys/class/powercap";
constexpr std::string_view kPrefix = "intel-rapl:";
// Counters move about once a millisecond: over less than this their steps would show, or none.
constexpr Duration kLeastCounterSpan = std::chrono::milliseconds(20);
constexpr std::string_view kFirst = "a power needs two readings of the energy counter";
constexpr std::string_view kGap =
    "too long since the last reading: a counter may have wrapped twice";

bool is_top_level(std::string_view entry) {
  return entry.starts_with(kPrefix) && entry.find(':', kPrefix.size()) == std::string_view::npos;
}

}  // namespace

std::vector<Rapl::Package> Rapl::find_packages(Sysroot& root, std::vector<std::string>& findings) {
  std::vector<Package> packages;
  for (const std::string& entry : root.list(kPowercap)) {
    if (!is_top_level(entry)) continue;
    const std::string folder = std::string(kPowercap) + '/' + entry;
    const std::string name = root.try_read(folder + "/name").value_or("");
    if (!name.starts_with("package")) continue;
    try {
      Package package{name, root.open(folder + "/energy_uj"), 0, std::nullopt};
      package.energy_uj.read_integer();
      package.range_uj = root.open(folder + "/max_energy_range_uj").read_integer();
      if (package.range_uj <= 0)
        throw FileError(folder + "/max_energy_range_uj is not positive", 0);
      findings.push_back("power: RAPL " + name + " at " + folder);
      packages.push_back(std::move(package));
    } catch (const FileError& error) {
      findings.push_back("power: RAPL " + name + " cannot be used: " + error.what());
      return {};
    }
  }
  if (packages.empty()) {
    findings.push_back("power: no RAPL package below " + std::string(kPowercap));
  }
  return packages;
}

std::unique_ptr<Rapl> Rapl::open(const PowerDescription& power, Sysroot& root,
                                 std::vector<std::string>& findings) {
  std::vector<Package> packages = find_packages(root, findings);
  if (packages.empty()) return nullptr;
  return std::unique_ptr<Rapl>(new Rapl(std::move(packages), power, root));
}

Rapl::Rapl(std::vector<Package> packages, const PowerDescription& power, Sysroot& root)
    : packages_(std::move(packages)),
      root_(root),
      period_(std::max(power.period, kLeastCounterSpan)),
      plausible_max_mw_(power.plausible_max_mw),
      reason_(kFirst) {}

Duration Rapl::longest_gap() const {
  std::int64_t least_uj = packages_.front().range_uj;
  for (const Package& package : packages_) least_uj = std::min(least_uj, package.range_uj);
  // uJ / mW is milliseconds.
  return std::chrono::milliseconds(least_uj / std::max<std::int64_t>(plausible_max_mw_, 1));
}

// All of them or none: a sum without one would be too low.
void Rapl::look_again(Time now) {
  const auto lost = [](const Package& package) { return package.error != 0; };
  if (std::none_of(packages_.begin(), packages_.end(), lost)) return;
  if (looked_ && now - *looked_ < kLookEvery) return;
  looked_ = now;
  std::vector<std::string> ignored;
  std::vector<Package> found = find_packages(root_, ignored);
  const auto same_name = [](const Package& one, const Package& other) {
    return one.name == other.name;
  };
  if (std::is_permutation(found.begin(), found.end(), packages_.begin(), packages_.end(),
                          same_name)) {
    packages_ = std::move(found);
  }
}

void Rapl::sample(Time now) {
  look_again(now);
  state_ = sampled_ ? ReadingState::ok : ReadingState::missing;
  reason_ = kFirst;
  const Duration elapsed = sampled_ ? now - *sampled_ : Duration(1);
  if (sampled_ && elapsed > longest_gap()) {
    state_ = ReadingState::missing;
    reason_ = kGap;
  }
  for (Package& package : packages_) {
    const std::optional<std::int64_t> energy_uj = package.energy_uj.try_read_integer();
    package.error = package.energy_uj.last_error();
    if (!energy_uj || !package.last_uj) state_ = ReadingState::missing;
    if (energy_uj && package.last_uj) {
      std::int64_t used_uj = *energy_uj - *package.last_uj;
      if (used_uj < 0) used_uj += package.range_uj;
      // uJ / ns is kW.
      const double power_mw =
          static_cast<double>(used_uj) * 1e6 / static_cast<double>(elapsed.count());
      package.power_mw = std::llround(power_mw);
    }
    package.last_uj = energy_uj;
  }
  sampled_ = now;
}

void Rapl::read(Time now, std::vector<Reading>& readings) {
  if (!sampled_ || now - *sampled_ >= period_) sample(now);
  Reading total{Quantity::power, state_, false, 0, 0, *sampled_};
  const std::size_t total_at = readings.size();
  readings.push_back(total);
  for (std::size_t i = 0; i < packages_.size(); ++i) {
    Reading reading{Quantity::rail_power,  state_,   false, static_cast<std::uint8_t>(i),
                    packages_[i].power_mw, *sampled_};
    if (state_ == ReadingState::missing) {
      reading.value = 0;
    } else if (reading.value <= 0 || reading.value > plausible_max_mw_) {
      // A package that runs draws something: its counter stands still.
      reading.state = total.state = ReadingState::absurd;
    }
    total.value += reading.value;
    readings.push_back(reading);
  }
  if (total.state == ReadingState::ok && total.value > plausible_max_mw_) {
    total.state = ReadingState::absurd;
  }
  readings[total_at] = total;
}

std::string Rapl::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  if (reading.state == ReadingState::absurd) {
    const bool is_total = reading.quantity == Quantity::power;
    for (std::size_t i = 0; i < packages_.size(); ++i) {
      if (packages_[i].power_mw != 0 || (!is_total && i != reading.channel)) continue;
      return packages_[i].name + " at " + packages_[i].energy_uj.path() +
             ": the energy counter stands still, which it cannot while the package runs";
    }
    return std::to_string(reading.value) + " mW is outside 0 to " +
           std::to_string(plausible_max_mw_) + " mW; the energy counters may have been reset";
  }
  for (const Package& package : packages_) {
    if (package.error == 0) continue;
    const char* name = strerrorname_np(package.error);
    return package.name + " at " + package.energy_uj.path() + ": " +
           (name != nullptr ? name : "cannot be read");
  }
  return std::string(reason_);
}

}  // namespace gearshift
