// A battery without a gauge: what is left is what there was, less all that was measured to flow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/battery.h"
#include "controller/sensor.h"

namespace gearshift {

// For how long the machine has run since it was booted, the time in which it was suspended left
// out.
using AwakeClock = std::function<Duration()>;

// Stands behind the other sensors and adds up what they appended in the same tick: the battery's
// voltage times its current where both are read. Where they never were it is the board's power,
// which is not all that flows. While neither is read, or the battery's no more, or what was read is
// older than `stale_after`, the most that was ever measured counts as drawn, because what is not
// known is danger; before the first reading, `most_w`. A machine that was suspended drew next to
// nothing, and nobody read what, so that time is not charged; that in which the process stood still
// is. Its energy is an estimate, and says so.
class BatteryIntegral : public Sensor {
 public:
  // Of the capacity, `charge` (0 to 1) is there at the first read. Without a clock the machine is
  // taken to have been awake all the time.
  BatteryIntegral(double capacity_wh, double charge, double most_w,
                  Duration stale_after = kTerminalsStaleAfter, AwakeClock awake = {})
      : capacity_wh_(capacity_wh),
        energy_wh_(capacity_wh * charge),
        most_w_(most_w),
        stale_after_(stale_after),
        awake_(std::move(awake)) {}

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading&) const override { return {}; }

 private:
  double capacity_wh_;
  double energy_wh_;
  double most_w_;
  Duration stale_after_;
  double most_measured_w_ = 0;
  bool terminals_read_ = false;  // ever
  AwakeClock awake_;
  std::optional<Duration> charged_;  // until then, by that clock
};

}  // namespace gearshift
