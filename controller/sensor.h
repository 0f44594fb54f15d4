// Reads some of a board's quantities.
#pragma once

#include <string>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

// How often, at a pace of their own, sensors that look closely are read.
inline constexpr Duration kClosePeriod = std::chrono::milliseconds(25);

class Sensor {
 public:
  virtual ~Sensor() = default;
  // Appends the newest reading of each channel. Never blocks for longer than a file read, never
  // throws: what cannot be read is a Reading whose state is missing or absurd.
  virtual void read(Time now, std::vector<Reading>& readings) = 0;
  // "VDD_GPU_SOC at /sys/.../hwmon1: EIO": why the named reading is missing; empty if it is not.
  virtual std::string explain(const Reading& reading) const = 0;
  // Power is wanted every kClosePeriod, while it is told from few readings whether a setting
  // fits; or no longer. For sensors that read at a pace of their own.
  virtual void look_closely(bool /*closely*/) {}
};

}  // namespace gearshift
