// Opens the battery that a machine runs on, by the best of what it has to tell.
#pragma once

#include <optional>

#include "boards/sysroot.h"
#include "sensors/battery_integral.h"
#include "sensors/nut_battery.h"
#include "sensors/open.h"

namespace gearshift {

struct BatteryDescription {
  std::optional<double> capacity_wh{};  // given by the user, where no gauge tells
  double charge = 1;                    // at the start, 0 to 1, where no gauge tells
  double most_w = 100;                  // that is ever drawn, where nothing was measured yet
  // An estimate does not go by readings older than this.
  Duration stale_after = kTerminalsStaleAfter;
  std::optional<NutAddress> nut{};  // of a daemon of Network UPS Tools, where one is asked
  AwakeClock awake{};               // that an estimate goes by
};

// Appends its sensors and findings to `opened`, behind those of the board: a power_supply, else an
// INA219 and its kin with the capacity given, else Network UPS Tools, else the capacity given and
// the board's power. False where nothing tells what is left. Never throws for a sensor that is
// missing; `root` outlives the sensors.
bool open_battery(const BatteryDescription& battery, Sysroot& root, OpenedSensors& opened);

}  // namespace gearshift
