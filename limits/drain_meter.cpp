#include "limits/drain_meter.h"

#include <algorithm>
#include <cmath>

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr double kNewest = 0.5;  // weight of the newest window, where it tells of less
// Before a gauge moved it is taken for one that counts in percent.
constexpr double kStepOfCapacity = 0.01;
// Steps hide nothing that are smaller than this share of what the board drew in the window.
constexpr double kHides = 0.1;
// Between two steps a window is exact, but for how seldom a gauge is read and how unequal its steps
// are: so many of them make good for it.
constexpr double kLeastSteps = 4;
// Of a step: what moved by less is no step, from which on a gauge would be exact.
constexpr double kMeterStep = 0.5;
// So many steps at once are none: a gauge that is read seldom moves by two now and then.
constexpr double kJump = 2.5;
// Power and current are read by turns, from chips that smooth differently.
constexpr double kFlowSmoothedOverS = 5;
// Of what the board draws: where more flows out, a charger does not give it all.
constexpr double kMostOutOfFull = 0.1;

}  // namespace

void DrainMeter::add_power(const Reading& reading) {
  if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) return;
  power_sum_w_ += static_cast<double>(reading.value) / 1000;
  ++power_count_;
  power_ = reading;
}

void DrainMeter::add_flow(double out_w, Time taken) {
  if (!power_ || taken - power_->taken > kTerminalsStaleAfter) return;
  const double newest_w = out_w - static_cast<double>(power_->value) / 1000;
  const bool goes_on = flow_taken_ && taken - *flow_taken_ <= kTerminalsStaleAfter;
  const double span_s = goes_on ? seconds(taken - *flow_taken_) : 0;
  const double weight = goes_on ? 1 - std::exp(-span_s / kFlowSmoothedOverS) : 1;
  flow_w_ += weight * (newest_w - flow_w_);
  flow_taken_ = taken;
}

bool DrainMeter::knows_flow(Time now) const {
  return flow_taken_ && now - *flow_taken_ <= kTerminalsStaleAfter;
}

double DrainMeter::other_w(Time now) const {
  const double measured_w = other_w_.value_or(0);
  return knows_flow(now) ? std::max(measured_w, std::min(0.0, flow_w_)) : measured_w;
}

// A gauge may stand still at its top: what flows out at the terminals leaves the battery.
bool DrainMeter::floats(Time now) const {
  if (!least_of_charger_ || !full_) return false;
  const double board_w = power_ ? static_cast<double>(power_->value) / 1000 : 0;
  return !knows_flow(now) || flow_w_ <= (kMostOutOfFull - 1) * board_w;
}

void DrainMeter::add_change(double change_wh) {
  auto& [largest_wh, second_wh] = changes_wh_;
  second_wh = std::max(second_wh, std::min(largest_wh, change_wh));
  largest_wh = std::max(largest_wh, change_wh);
}

// The largest change that was seen twice; before any was, the one that was seen.
double DrainMeter::step_wh(double capacity_wh) const {
  const double larger_wh = std::max(changes_wh_[0], changes_before_wh_[0]);
  const double smaller_wh = std::min(changes_wh_[0], changes_before_wh_[0]);
  const double twice_wh = std::max({smaller_wh, changes_wh_[1], changes_before_wh_[1]});
  if (twice_wh > 0) return twice_wh;
  return larger_wh > 0 ? larger_wh : kStepOfCapacity * capacity_wh;
}

bool DrainMeter::hides(double step_wh, Duration span) const {
  return power_count_ == 0 || step_wh * kJoulesInWh > kHides * board_w() * seconds(span);
}

void DrainMeter::begin() {
  began_ = *taken_;
  began_wh_ = energy_wh_;
  if (changes_wh_[0] > 0) changes_before_wh_ = changes_wh_;
  changes_wh_ = {};
  power_sum_w_ = 0;
  power_count_ = 0;
}

DrainWindow DrainMeter::close() {
  const double drained_w = (began_wh_ - energy_wh_) * kJoulesInWh / seconds(*taken_ - began_);
  const double newest_w = drained_w - board_w();
  // What a charger was known to give at least is no measurement that the newest is weighed with.
  const bool less = other_w_ && !least_of_charger_ && newest_w < *other_w_;
  least_of_charger_ = full_ && energy_wh_ >= began_wh_;
  other_w_ = less ? (1 - kNewest) * *other_w_ + kNewest * newest_w : newest_w;
  return {.began = began_,
          .ended = *taken_,
          .drained_w = drained_w,
          .board_w = board_w(),
          .most_wh = std::max(began_wh_, energy_wh_)};
}

std::optional<DrainWindow> DrainMeter::add_energy(double energy_wh, double capacity_wh,
                                                  Time taken) {
  const bool first = !taken_;
  // After a gap in the readings nobody knows what the board drew.
  const bool gap = !first && taken - *taken_ > window_;
  const double change_wh = first || gap ? 0 : std::abs(energy_wh - energy_wh_);
  add_change(change_wh);
  taken_ = taken;
  energy_wh_ = energy_wh;
  full_ = energy_wh >= kFullOfCapacity * capacity_wh;
  if (first || gap) {
    on_step_ = false;
    begin();
    return std::nullopt;
  }
  const double step = step_wh(capacity_wh);
  const bool moved = change_wh > 0 && change_wh >= kMeterStep * step && change_wh <= kJump * step;
  const Duration span = taken - began_;
  if (moved && !on_step_ && hides(step, window_)) {
    on_step_ = true;
    begin();
    return std::nullopt;
  }
  if (span < window_ || power_count_ == 0) return std::nullopt;
  const double fell_wh = std::abs(began_wh_ - energy_wh_);
  const bool enough = moved && on_step_ && fell_wh >= kLeastSteps * step * (1 - 1e-6);
  if (!enough && hides(step, span)) return std::nullopt;
  std::optional<DrainWindow> closed;
  if (changes_wh_[0] <= kJump * step) closed = close();
  on_step_ = moved;
  begin();
  return closed;
}

}  // namespace gearshift
