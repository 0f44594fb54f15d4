#include "controller/power_ramp.h"

#include <algorithm>
#include <cmath>

namespace gearshift {

void PowerRamp::add(Time taken, std::int64_t mw) {
  if (averaging_ <= Duration::zero()) return;
  if (!before_.empty() && taken <= before_.newest()) return;
  before_.add({.quantity = Quantity::power, .value = mw, .taken = taken});
  newest_mw_ = static_cast<double>(mw);
  if (!moved_ || taken - *moved_ > averaging_) learn_noise(mw);
  if (!moved_ || taken <= *moved_ || taken > ends_ || count_ == kMost) return;
  const Duration since = taken - *moved_;
  const double weight = std::min(1.0, seconds(since) / seconds(averaging_));
  samples_[count_++] = {weight, static_cast<double>(mw)};
}

// The mean's front end takes up what power is now, its back end gives up what power was before the
// first of the changes: so much the readings move from the newest one on, however far they have
// come.
void PowerRamp::change(Time now) {
  if (!moved_) differences_idle_ = differences_;
  const bool follows = moved_ && now - *moved_ < averaging_;
  if (!follows) {
    first_ = now;
    steady_before_ = was_steady(now);
    level_mw_ = static_cast<double>(before_.mean_mw(now).value_or(0));
    level_count_ = static_cast<double>(before_.count(now));
    base_mw_ = level_mw_;
  } else {
    // The back end has come to the changes themselves: half a mean ago readings were lower.
    const auto later = before_.mean_mw(now - averaging_ / 2);
    if (now - first_ >= averaging_ && later) level_mw_ = static_cast<double>(*later);
    base_mw_ = newest_mw_;
  }
  base_is_level_ = !follows;
  moved_ = now;
  // Changes that have raised power are seen too low once the back end comes to them, others too
  // high.
  ends_ = base_mw_ >= level_mw_ ? now + 2 * averaging_ : first_ + averaging_;
  if (!steady_before_) ends_ = now;
  steady_mw_.reset();
  count_ = 0;
}

// A load that begins just before a change puts readings on a ramp of its own.
bool PowerRamp::was_steady(Time now) const {
  const auto early = before_.mean_mw(now - averaging_ / 2);
  const auto late = before_.mean_mw(now);
  if (!early || !late) return false;
  const auto level_mw = static_cast<double>(*late);
  const double moved_mw = std::abs(level_mw - static_cast<double>(*early));
  return moved_mw <= kSteadyDeviations * deviation_mw(level_mw) + kSteadyShare * level_mw;
}

void PowerRamp::learn_noise(std::int64_t mw) {
  if (steady_mw_ && mw > 0) {
    const double share = static_cast<double>(mw - *steady_mw_) / static_cast<double>(mw);
    const double weight = std::max(kNewNoise, 1.0 / static_cast<double>(differences_ + 1));
    const double most = kMostTimes * std::max(noise_share_, kFinest);  // a step is no noise
    const double variance = share * share / 2;
    noise_share_ +=
        weight * ((differences_ == 0 ? variance : std::min(variance, most)) - noise_share_);
    ++differences_;
  }
  steady_mw_ = mw;
}

double PowerRamp::deviation_mw(double power_mw) const {
  const bool seen_under_load = differences_ - differences_idle_ >= kLeastDifferences;
  return std::sqrt(seen_under_load ? noise_share_ : std::max(noise_share_, kUnknown)) * power_mw;
}

std::optional<std::int64_t> PowerRamp::least_mw(Time now) const {
  if (count_ < 2 || level_count_ < 1 || now > ends_) return std::nullopt;
  double sum = 0;
  double squares = 0;
  double products = 0;
  double rises = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const auto& [weight, mw] = samples_[i];
    sum += weight;
    squares += weight * weight;
    products += weight * (mw - base_mw_);
    rises += mw - base_mw_;
  }
  if (squares < kLeastSquares) return std::nullopt;
  const double rise_mw = products / squares;
  if (rise_mw <= 0) return std::nullopt;
  const double step_mw = rises / static_cast<double>(count_);
  const double deviation = deviation_mw(level_mw_ + rise_mw);
  double off_ramp = 0;
  double off_step = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const double fitted_mw = samples_[i].weight * rise_mw;
    const double misfit_mw = std::abs(samples_[i].mw - base_mw_ - fitted_mw);
    if (misfit_mw > kMisfitDeviations * deviation + kMisfitShare * fitted_mw) return std::nullopt;
    off_ramp += misfit_mw * misfit_mw;
    off_step += std::pow(samples_[i].mw - base_mw_ - step_mw, 2);
  }
  if (off_ramp > kMostOfStep * off_step) return std::nullopt;
  const double of_base = sum / squares;
  const double before = base_is_level_ ? std::pow(1 - of_base, 2) / level_count_
                                       : std::pow(of_base, 2) + 1 / level_count_;
  const double variance = before + 1 / squares;
  return std::llround(level_mw_ + rise_mw - kDeviations * std::sqrt(variance) * deviation);
}

}  // namespace gearshift
