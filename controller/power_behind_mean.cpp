#include "controller/power_behind_mean.h"

#include <algorithm>
#include <cmath>

namespace gearshift {

void PowerBehindMean::add(Time taken, std::int64_t mw) {
  if (averaging_ <= Duration::zero()) return;
  if (count_ > 0 && taken <= newest_) return;
  learn_noise(taken, mw);
  if (count_ > 0) before_mw_ = parts_[count_ - 1].mw;
  follow(taken, static_cast<double>(mw));
  newest_ = taken;
  ++since_change_;
  const Part& newest = parts_[count_ - 1];
  // Readings may be wrong by the same, as long as a mean is: no number of them makes up for that.
  const double variance =
      covariance_[count_ - 1][count_ - 1] + noise_variance(static_cast<double>(mw));
  const double deviation = std::sqrt(std::max(0.0, variance));
  least_mw_ = newest.mw - kDeviations * deviation;
  most_mw_ = newest.mw + kHidden * deviation;
}

void PowerBehindMean::change(Time now) {
  // What was before a change that follows another is no steady power that noise may hold up.
  if (!moved_ || now - *moved_ > averaging_) since_change_ = 0;
  change_by(now, kStepShare);
}

void PowerBehindMean::plug(Time now) { change_by(now, kPlugShare); }

void PowerBehindMean::change_by(Time now, double share) {
  if (averaging_ <= Duration::zero()) return;
  await_change(now);
  if (count_ > 0) begin_part(now, std::pow(share * parts_[count_ - 1].mw, 2));
}

void PowerBehindMean::await_change(Time now) {
  if (!moved_) differences_idle_ = differences_;
  moved_ = now;
  steady_count_ = 0;
}

std::optional<std::int64_t> PowerBehindMean::least_mw(Time now) const {
  if (!moved_ || now - *moved_ > 2 * averaging_ || now < quiet_until_) return std::nullopt;
  if (since_change_ < 2 || !least_mw_ || !before_mw_) return std::nullopt;
  return std::llround(std::min(*least_mw_, *before_mw_));
}

std::optional<std::int64_t> PowerBehindMean::most_mw(Time now) const {
  if (!least_mw(now)) return std::nullopt;
  return std::llround(most_mw_);
}

bool PowerBehindMean::steps_hide_most(std::int64_t mw) const {
  return 2 * std::pow(step_deviation_mw(), 2) > noise_variance(static_cast<double>(mw));
}

// What is known of it is what is known of the part before, and how far power may have moved.
void PowerBehindMean::begin_part(Time begin, double variance) {
  Part& last = parts_[count_ - 1];
  if (begin <= last.begin) {
    covariance_[count_ - 1][count_ - 1] += variance;
    return;
  }
  if (count_ == kMost) drop_parts(1);
  parts_[count_] = {begin, parts_[count_ - 1].mw};
  for (std::size_t i = 0; i < count_; ++i) {
    covariance_[count_][i] = covariance_[i][count_] = covariance_[count_ - 1][i];
  }
  covariance_[count_][count_] = covariance_[count_ - 1][count_ - 1] + variance;
  ++count_;
}

void PowerBehindMean::drop_parts(std::size_t count) {
  for (std::size_t i = count; i < count_; ++i) {
    parts_[i - count] = parts_[i];
    for (std::size_t j = count; j < count_; ++j) {
      covariance_[i - count][j - count] = covariance_[i][j];
    }
  }
  count_ -= count;
}

// The share of the mean at `taken` that each part is.
void PowerBehindMean::weigh(Time taken, std::array<double, kMost>& weights) const {
  const Time from = taken - averaging_;
  for (std::size_t i = 0; i < count_; ++i) {
    const Time begin = i == 0 ? from : std::clamp(parts_[i].begin, from, taken);
    const Time end = i + 1 == count_ ? taken : std::clamp(parts_[i + 1].begin, from, taken);
    weights[i] = seconds(end - begin) / seconds(averaging_);
  }
}

void PowerBehindMean::follow(Time taken, double mw) {
  if (count_ == 0) {
    parts_[0] = {taken, mw};
    covariance_[0][0] = noise_variance(mw);
    count_ = 1;
    return;
  }
  begin_part(newest_, kWander * kWander * noise_variance(parts_[count_ - 1].mw));
  std::size_t gone = 0;
  while (gone + 1 < count_ && parts_[gone + 1].begin <= taken - averaging_) ++gone;
  drop_parts(gone);
  std::array<double, kMost> weights{};
  weigh(taken, weights);
  const double newest_weight = std::max(weights[count_ - 1], kTiming);
  std::array<double, kMost> products{};
  double off = mw;
  double variance = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    off -= weights[i] * parts_[i].mw;
    for (std::size_t j = 0; j < count_; ++j) products[i] += covariance_[i][j] * weights[j];
    variance += weights[i] * products[i];
  }
  // As wrong as times are known, along the ramp that goes on and the one that may begin.
  const double ramp =
      std::max(std::abs(off) / newest_weight, std::abs(parts_[count_ - 1].mw - parts_[0].mw));
  const double noise = noise_variance(mw) + std::pow(kTiming * ramp, 2);
  if (off * off > kMisfitDeviations * kMisfitDeviations * (variance + noise)) {
    // What a knob moves may take a moment to move.
    if (!moved_ || taken - *moved_ > averaging_ / 2) quiet_until_ = taken + averaging_;
    const double moved = std::pow(off / newest_weight, 2);
    covariance_[count_ - 1][count_ - 1] += moved;
    products[count_ - 1] += moved * weights[count_ - 1];
    variance += moved * weights[count_ - 1] * weights[count_ - 1];
  }
  variance += noise;
  if (variance <= 0) return;  // only zeros were ever read
  for (std::size_t i = 0; i < count_; ++i) {
    parts_[i].mw += products[i] / variance * off;
    for (std::size_t j = 0; j < count_; ++j) {
      covariance_[i][j] -= products[i] * products[j] / variance;
    }
  }
}

void PowerBehindMean::learn_noise(Time taken, std::int64_t mw) {
  if (moved_ && taken - *moved_ <= averaging_) return;
  const std::size_t held = std::min(steady_count_, kMostSteady);
  const Part* before = nullptr;  // the newest that shares no time with this one
  for (std::size_t back = 1; back <= held && before == nullptr; ++back) {
    const Part& one = steady_[(steady_count_ - back) % kMostSteady];
    if (one.begin <= taken - averaging_) before = &one;
  }
  steady_[steady_count_++ % kMostSteady] = {taken, static_cast<double>(mw)};
  if (before == nullptr || mw <= 0) return;
  const double share = (static_cast<double>(mw) - before->mw) / static_cast<double>(mw);
  if (std::abs(share) > kMostNoise) {  // a load came or went
    steady_count_ = 0;
    return;
  }
  const double weight = std::max(kNewNoise, 1.0 / static_cast<double>(differences_ + 1));
  const double most = kMostTimes * std::max(noise_share_, kFine);  // a step is no noise
  const double variance = share * share / 2;
  noise_share_ += weight * (std::min(variance, most) - noise_share_);
  ++differences_;
}

double PowerBehindMean::noise_variance(double mw) const {
  const bool seen_under_load = differences_ - differences_idle_ >= kLeastDifferences;
  return std::max(noise_share_, seen_under_load ? kFinest : kUnknown) * mw * mw +
         std::pow(step_deviation_mw(), 2);
}

// Of two rails' steps the deviation is 0.4 of the most, of one's 0.6.
double PowerBehindMean::step_deviation_mw() const {
  return 0.5 * static_cast<double>(rounding_mw_);
}

}  // namespace gearshift
