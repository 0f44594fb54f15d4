#include "limits/forecast_drain.h"

#include <algorithm>

namespace gearshift {

void ForecastDrain::add(const DrainWindow& window, double forecast_w,
                        const ForecastBattery& battery) {
  // Of what flows into the battery a part is lost.
  const double flow_w =
      window.drained_w < 0 ? window.drained_w / battery.charge_efficiency : window.drained_w;
  const double beside_w = flow_w - window.board_w;
  const bool full = window.most_wh >= kFullOfCapacity * battery.capacity_wh;
  const double least_w = std::max(0.0, beside_w + (full ? 0 : surely_ * forecast_w));
  const double most_w = std::max(0.0, beside_w + (2 - surely_) * forecast_w);
  if (other_w_ < least_w) {
    other_w_ = least_w;
  } else if (other_w_ > most_w) {
    other_w_ = (other_w_ + most_w) / 2;
  }
}

}  // namespace gearshift
