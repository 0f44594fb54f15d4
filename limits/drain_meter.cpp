#include "limits/drain_meter.h"

#include <algorithm>
#include <cmath>

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr double kNewest = 0.5;  // weight of the newest window
// Before a gauge moved it is taken for one that counts in percent.
constexpr double kStepOfCapacity = 0.01;
// Steps hide nothing that are smaller than this share of what the board drew in the window.
constexpr double kHides = 0.1;
// Between two steps a window is exact, but for how seldom a gauge is read and how unequal its steps
// are: so many of them make good for it.
constexpr double kLeastSteps = 4;
// Of the largest step: what moved by less is no step, from which on a gauge would be exact.
constexpr double kMeterStep = 0.5;

}  // namespace

void DrainMeter::add_power(const Reading& reading) {
  if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) return;
  power_sum_w_ += static_cast<double>(reading.value) / 1000;
  ++power_count_;
}

double DrainMeter::step_wh(double capacity_wh) const {
  const double largest_wh = std::max(change_wh_, change_before_wh_);
  return largest_wh > 0 ? largest_wh : kStepOfCapacity * capacity_wh;
}

bool DrainMeter::hides(double step_wh, Duration span) const {
  return power_count_ == 0 || step_wh * kJoulesInWh > kHides * board_w() * seconds(span);
}

void DrainMeter::begin() {
  began_ = *taken_;
  began_wh_ = energy_wh_;
  if (change_wh_ > 0) change_before_wh_ = change_wh_;
  change_wh_ = 0;
  power_sum_w_ = 0;
  power_count_ = 0;
}

void DrainMeter::close() {
  const double drained_w = (began_wh_ - energy_wh_) * kJoulesInWh / seconds(*taken_ - began_);
  const double newest_w = drained_w - board_w();
  other_w_ = other_w_ ? (1 - kNewest) * *other_w_ + kNewest * newest_w : newest_w;
}

void DrainMeter::add_energy(double energy_wh, double capacity_wh, Time taken) {
  const bool first = !taken_;
  // After a gap in the readings nobody knows what the board drew.
  const bool gap = !first && taken - *taken_ > window_;
  const double change_wh = first || gap ? 0 : std::abs(energy_wh - energy_wh_);
  change_wh_ = std::max(change_wh_, change_wh);
  taken_ = taken;
  energy_wh_ = energy_wh;
  if (first || gap) {
    on_step_ = false;
    begin();
    return;
  }
  const double step = step_wh(capacity_wh);
  const bool moved = change_wh > 0 && change_wh >= kMeterStep * step;
  const Duration span = taken - began_;
  if (moved && !on_step_ && hides(step, window_)) {
    on_step_ = true;
    begin();
    return;
  }
  if (span < window_ || power_count_ == 0) return;
  const double fell_wh = std::abs(began_wh_ - energy_wh_);
  const bool enough = moved && on_step_ && fell_wh >= kLeastSteps * step * (1 - 1e-6);
  if (!enough && hides(step, span)) return;
  close();
  on_step_ = moved;
  begin();
}

}  // namespace gearshift
