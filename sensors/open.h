// Opens every sensor a board has, and tells what was found where and what was not, and why.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "controller/clock.h"
#include "controller/sensor.h"
#include "sensors/ina3221_averaging.h"
#include "sensors/thermal_zones.h"

namespace gearshift {

struct OpenedSensors {
  // The first one is the power sensor, always there: where nothing can be read its readings are
  // missing, and explain() says why.
  std::vector<std::unique_ptr<Sensor>> sensors;
  // One sentence each, for people: "power: ina3221 rail VDD_GPU_SOC at /sys/class/hwmon/hwmon3".
  std::vector<std::string> findings;
  // Whose temperatures are read, and by which of the sensors; null where there is none.
  std::vector<ThermalZone> thermal_zones;
  const Sensor* thermal = nullptr;
  // True when every power reading is computed from a model, wholly or in part.
  bool power_is_estimate = false;
  // The board file's, or what the monitors themselves tell.
  PowerAveraging power_averaging;
  // True when a power reading is what a counter grew by since the one before.
  bool power_counts = false;
  // That which reads the battery, and says why where it cannot; null where none does.
  const Sensor* battery = nullptr;
  // True when a sensor reads the voltage at the battery's terminals.
  bool battery_voltage = false;
  // An eventfd that becomes readable when a sampler thread has a new power reading; whoever waits
  // on it reads its 8 bytes to rearm it. -1 where no sampler runs. Lives as long as `sensors`.
  int wake_descriptor = -1;
};

// Never throws for a sensor that is missing. `root` and `clock` must outlive the sensors; `clock`
// is read by the sampler thread only.
OpenedSensors open_sensors(const BoardDescription& board, Sysroot& root, const Clock& clock);

}  // namespace gearshift
