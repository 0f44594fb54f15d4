#include "sensors/ina219.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gearshift {
namespace {

constexpr std::string_view kHwmon = "/sys/class/hwmon";
constexpr std::string_view kChips[] = {"ina219", "ina220", "ina226", "ina230", "ina231"};
constexpr std::int64_t kLeastVoltageMv = 500;
constexpr std::int64_t kMostVoltageMv = 100'000;

std::string error_text(int code) {
  const char* name = strerrorname_np(code);
  return name != nullptr ? name : "cannot be read";
}

}  // namespace

std::unique_ptr<Ina219> Ina219::open(Sysroot& root, std::vector<std::string>& findings) {
  for (const std::string& entry : root.list(kHwmon)) {
    const std::string folder = std::string(kHwmon) + '/' + entry;
    const std::string name = root.try_read(folder + "/name").value_or("");
    if (std::find(std::begin(kChips), std::end(kChips), name) == std::end(kChips)) continue;
    try {
      DeviceFile voltage = root.open(folder + "/in1_input");
      DeviceFile current = root.open(folder + "/curr1_input");
      findings.push_back("battery: voltage and current of the " + name + " at " + folder);
      return std::unique_ptr<Ina219>(new Ina219(std::move(voltage), std::move(current)));
    } catch (const FileError& error) {
      findings.push_back("battery: the " + name + " is passed over: " + error.what());
    }
  }
  return nullptr;
}

void Ina219::read(Time now, std::vector<Reading>& readings) {
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
