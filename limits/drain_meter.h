// What flows out of a battery beside what the board draws: motors, radios, losses; or into it.
#pragma once

#include <optional>

#include "controller/clock.h"
#include "controller/event.h"

namespace gearshift {

// Compares, window by window, the energy that left the battery with the board's mean power.
class DrainMeter {
 public:
  // Shorter windows would measure the steps that a gauge counts in.
  explicit DrainMeter(Duration window) : window_(window) {}

  // The board's power; readings that are not ok are passed over.
  void add_power(const Reading& reading);
  // What the battery was believed to hold at `taken`.
  void add_energy(double energy_wh, Time taken);
  bool measured() const { return other_w_.has_value(); }
  // W, smoothed over about three windows; 0 until the first has passed. Negative: a charger gives.
  double other_w() const { return other_w_.value_or(0); }

 private:
  Duration window_;
  std::optional<Time> began_;
  double energy_wh_ = 0;  // at the beginning of the window
  double power_sum_w_ = 0;
  std::int64_t power_count_ = 0;
  std::optional<double> other_w_;
};

}  // namespace gearshift
