#include "sensors/open_battery.h"

#include "sensors/ina219.h"
#include "sensors/system_batteries.h"

namespace gearshift {

namespace {

// The best source of what is left. False where nothing tells.
bool open_energy(const BatteryDescription& battery, Sysroot& root, OpenedSensors& opened) {
  if (auto supply = SystemBatteries::open(battery.capacity_wh, root, opened.findings)) {
    opened.battery_voltage = supply->has_voltage();
    opened.battery = supply.get();
    opened.sensors.push_back(std::move(supply));
    return true;
  }
  std::unique_ptr<Ina219> terminals = Ina219::open(root, opened.findings);
  const bool measured = terminals != nullptr;
  if (battery.nut && !(measured && battery.capacity_wh)) {
    if (auto nut = NutBattery::open(*battery.nut, battery.capacity_wh, opened.findings)) {
      opened.battery_voltage = nut->has_voltage();
      opened.battery = nut.get();
      opened.sensors.push_back(std::move(nut));
      return true;
    }
  }
  opened.battery_voltage = measured;
  opened.battery = terminals.get();
  if (measured) opened.sensors.push_back(std::move(terminals));
  if (!battery.capacity_wh) {
    opened.findings.emplace_back(
        "battery: nothing tells what is left in it; give its capacity, for example --battery 10Wh, "
        "or --nut 127.0.0.1 where Network UPS Tools watch it");
    return false;
  }
  opened.sensors.push_back(std::make_unique<BatteryIntegral>(
      *battery.capacity_wh, battery.charge, battery.most_w, battery.stale_after, battery.awake));
  opened.findings.emplace_back(measured ? "battery: an estimate, by what flows at its terminals"
                                        : "battery: an estimate, by the power of the board alone");
  return true;
}

}  // namespace

bool open_battery(const BatteryDescription& battery, Sysroot& root, OpenedSensors& opened) {
  if (!open_energy(battery, root, opened)) return false;
  if (!opened.battery_voltage) {
    opened.findings.emplace_back(
        "battery: no voltage at its terminals is told: no brown-out shows");
  }
  return true;
}

}  // namespace gearshift
