// A battery without a gauge: what is left is what there was, less all that was measured to flow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/sensor.h"

namespace gearshift {

// Stands behind the other sensors and adds up what they appended in the same tick: the battery's
// voltage times its current where both were read, else the board's power. While neither is read
// the most that was ever measured counts as drawn, because what is not known is danger; before
// the first reading, `most_w`. Its energy is an estimate, and says so.
class BatteryIntegral : public Sensor {
 public:
  // Of the capacity, `charge` (0 to 1) is there at the first read.
  BatteryIntegral(double capacity_wh, double charge, double most_w)
      : capacity_wh_(capacity_wh), energy_wh_(capacity_wh * charge), most_w_(most_w) {}

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading&) const override { return {}; }

 private:
  double capacity_wh_;
  double energy_wh_;
  double most_w_;
  double most_measured_w_ = 0;
  std::optional<Time> read_;
};

}  // namespace gearshift
