// Reads voltage and current at a battery's terminals from an INA219 or one of its kin.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boards/sysroot.h"
#include "controller/sensor.h"

namespace gearshift {

// Emits battery_voltage and battery_current. What is left in the battery such a chip does not know:
// BatteryIntegral adds up what it reads. The current's sign depends on how the board is wired, and
// nothing tells how: its size counts as drawn, so that a charge is never taken for energy that is
// not there. A file that fails is a missing reading; a voltage outside 0.5 to 100 V is absurd. A
// chip that cannot be read is looked for again once a second, by its name and its place on the bus:
// files that were open stay dead when the driver is bound anew, and hwmon numbers change.
class Ina219 : public Sensor {
 public:
  // The first hwmon named ina219, ina220, ina226, ina230 or ina231 that has in1_input and
  // curr1_input. Null where there is none.
  static std::unique_ptr<Ina219> open(Sysroot& root, std::vector<std::string>& findings);

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;

 private:
  // Where one of the chips is: its name, and the device behind it; empty where nothing tells that.
  struct Place {
    std::string folder;
    std::string name;
    std::string device;
  };

  static std::vector<Place> places(const Sysroot& root);
  // Throws FileError.
  Ina219(Place place, Sysroot& root);
  void look_again(Time now);

  Sysroot& root_;
  Place place_;
  DeviceFile voltage_mv_;
  DeviceFile current_ma_;
  std::optional<Time> looked_;
};

}  // namespace gearshift
