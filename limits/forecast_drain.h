// What draws on a battery beside the board, told apart from what a forecast charger gives.
#pragma once

#include <span>

#include "limits/drain_meter.h"
#include "limits/forecast_plan.h"

namespace gearshift {

// What flowed beside the board is what others drew less what the charger gave, and of the forecast
// more or less may have come. So a window bounds what others draw, by the least and by the most
// that surely came, and what is believed moves no further than to these bounds: in the dark, where
// they meet, to what was measured. It rises to the lower one at once, and falls by half of the way
// to the upper one, as a DrainMeter believes more at once and less by and by. A battery that was
// full took no more than it could use, which says nothing of what came.
class ForecastDrain {
 public:
  // `deviation`: of what comes, from the forecast, by a normal factor of mean 1.
  explicit ForecastDrain(double deviation) : surely_(surely_forecast(0.95, deviation)) {}

  // `forecast_w` is what the forecast gave on the mean in the window.
  void add(const DrainWindow& window, double forecast_w, const ForecastBattery& battery);
  // W, 0 at least, and until the first window.
  double other_w() const { return other_w_; }

 private:
  double surely_;  // of the forecast
  double other_w_ = 0;
};

}  // namespace gearshift
