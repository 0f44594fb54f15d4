#include "sensors/ina219.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "sensors/hwmon.h"
#include "sensors/look_again.h"

namespace gearshift {
namespace {

constexpr std::string_view kChips[] = {"ina219", "ina220", "ina226", "ina230", "ina231"};
constexpr std::int64_t kLeastVoltageMv = 500;
constexpr std::int64_t kMostVoltageMv = 100'000;

}  // namespace

std::vector<Ina219::Place> Ina219::places(const Sysroot& root) {
  std::vector<Place> all;
  for (const std::string& entry : root.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    const std::string name = root.try_read(folder + "/name").value_or("");
    if (std::find(std::begin(kChips), std::end(kChips), name) == std::end(kChips)) continue;
    const std::string device = folder + "/device";
    all.push_back({folder, name, root.exists(device) ? root.resolve(device) : ""});
  }
  return all;
}

std::unique_ptr<Ina219> Ina219::open(Sysroot& root, std::vector<std::string>& findings) {
  for (const Place& place : places(root)) {
    try {
      std::unique_ptr<Ina219> sensor(new Ina219(place, root));
      findings.push_back("battery: voltage and current of the " + place.name + " at " +
                         place.folder);
      return sensor;
    } catch (const FileError& error) {
      findings.push_back("battery: the " + place.name + " is passed over: " + error.what());
    }
  }
  return nullptr;
}

Ina219::Ina219(Place place, Sysroot& root)
    : root_(root),
      place_(std::move(place)),
      voltage_mv_(root.open(place_.folder + "/in1_input")),
      current_ma_(root.open(place_.folder + "/curr1_input")) {}

void Ina219::look_again(Time now) {
  if (voltage_mv_.last_error() == 0 && current_ma_.last_error() == 0) return;
  if (looked_ && now - *looked_ < kLookEvery) return;
  looked_ = now;
  for (const Place& place : places(root_)) {
    // Another chip of the name measures something else.
    if (place.name != place_.name || place.device != place_.device) continue;
    try {
      Ina219 anew(place, root_);
      anew.voltage_mv_.read_integer();
      anew.current_ma_.read_integer();
      place_ = place;
      voltage_mv_ = std::move(anew.voltage_mv_);
      current_ma_ = std::move(anew.current_ma_);
      return;
    } catch (const FileError&) {
      continue;  // the readings say why
    }
  }
}

void Ina219::read(Time now, std::vector<Reading>& readings) {
  look_again(now);
  Reading voltage{Quantity::battery_voltage, ReadingState::missing, false, 0, 0, now};
  if (const auto value = voltage_mv_.try_read_integer()) {
    voltage.value = *value;
    voltage.state = *value >= kLeastVoltageMv && *value <= kMostVoltageMv ? ReadingState::ok
                                                                          : ReadingState::absurd;
  }
  readings.push_back(voltage);
  Reading current{Quantity::battery_current, ReadingState::missing, false, 0, 0, now};
  if (const auto value = current_ma_.try_read_integer()) {
    current.value = std::abs(*value);
    current.state = ReadingState::ok;
  }
  readings.push_back(current);
}

std::string Ina219::explain(const Reading& reading) const {
  if (reading.state == ReadingState::ok) return "";
  if (reading.quantity == Quantity::battery_voltage) {
    return voltage_mv_.path() + ": " +
           (reading.state == ReadingState::absurd
                ? std::to_string(reading.value) + " mV is no battery's voltage"
                : error_text(voltage_mv_.last_error()));
  }
  if (reading.quantity == Quantity::battery_current) {
    return current_ma_.path() + ": " + error_text(current_ma_.last_error());
  }
  return "";
}

}  // namespace gearshift
