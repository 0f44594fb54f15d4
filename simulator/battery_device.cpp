#include "simulator/battery_device.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace gearshift {
namespace {

constexpr double kMicro = 1e6;
constexpr double kMilli = 1e3;

}  // namespace

void BatteryDevice::advance(Time now, double board_w) {
  if (!began_) {
    began_ = now;
    advanced_ = now;
  }
  now = std::max(now, advanced_);
  supply_.advance(Time{} + (advanced_ - *began_), Time{} + (now - *began_), board_w);
  advanced_ = now;
}

void BatteryDevice::add_files(BoardTree& tree, const std::string& i2c_device, int hwmon_number) {
  const VirtualBattery& battery = supply_.battery();
  const auto number = [&](const std::string& path, auto value, double scale) {
    tree.add_file(path, 0444, [value, scale] { return line(std::llround(value() * scale)); });
  };
  const std::string folder = "/sys/class/power_supply/BAT0/";
  tree.add_text(folder + "type", "Battery");
  tree.add_text(folder + "scope", "System");
  tree.add_text(folder + "present", "1");
  tree.add_text(folder + "technology", "Li-ion");
  tree.add_file(folder + "status", 0444, [&battery] {
    return line(std::string_view(battery.current_a() < 0   ? "Charging"
                                 : battery.current_a() > 0 ? "Discharging"
                                                           : "Not charging"));
  });
  number(
      folder + "energy_now", [&battery] { return battery.energy_wh(); }, kMicro);
  number(
      folder + "energy_full", [&battery] { return *battery.reading().capacity_wh; }, kMicro);
  number(
      folder + "voltage_now", [&battery] { return battery.voltage_v(); }, kMicro);
  number(
      folder + "current_now", [&battery] { return -battery.current_a(); }, kMicro);
  number(
      folder + "capacity", [&battery] { return 100 * battery.charge(); }, 1);

  const std::string i2c = i2c_device + "/i2c-7/7-0041";
  const std::string name = "hwmon" + std::to_string(hwmon_number);
  const std::string hwmon = i2c + "/hwmon/" + name + "/";
  tree.add_text(hwmon + "name", "ina219");
  number(
      hwmon + "in1_input", [&battery] { return battery.voltage_v(); }, kMilli);
  number(
      hwmon + "curr1_input", [&battery] { return battery.current_a(); }, kMilli);
  tree.add_link("/sys/class/hwmon/" + name, i2c + "/hwmon/" + name);

  const std::string truth = "/.virtual/battery/";
  number(
      truth + "energy_uwh", [&battery] { return battery.energy_wh(); }, kMicro);
  number(
      truth + "least_uwh", [this] { return supply_.least_wh(); }, kMicro);
  tree.add_file(truth + "empty", 0444,
                [this] { return line(std::int64_t{supply_.emptied() ? 1 : 0}); });
}

}  // namespace gearshift
