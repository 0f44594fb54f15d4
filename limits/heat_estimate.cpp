#include "limits/heat_estimate.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// What is older counts for less: surroundings change with the sun and with dust.
constexpr double kMemorySeconds = 1800;
constexpr double kLeastSeconds = 8;
// Power that varies by less than this, W, or than this share of its mean tells nothing of R.
constexpr double kLeastDeviationW = 0.5;
constexpr double kLeastDeviation = 0.03;
// Of the temperature's variance what the power felt must explain.
constexpr double kLeastExplained = 0.5;
constexpr double kSmallest = 1e-9;
// Of boards that are not known yet: rather cool surroundings, so that R is rather too high.
constexpr double kSurroundingsC = 25;
constexpr double kLeastFeltW = 0.5;
constexpr double kLeastCPerW = 0.05;

}  // namespace

double HeatEstimate::Candidate::residual() const {
  if (variance_felt < kSmallest) return variance_c;
  return variance_c - covariance * covariance / variance_felt;
}

bool HeatEstimate::Candidate::tells() const {
  const double least = std::max(kLeastDeviationW, kLeastDeviation * mean_felt);
  if (variance_felt < least * least || covariance <= 0) return false;
  return covariance * covariance >= kLeastExplained * variance_felt * variance_c;
}

double HeatEstimate::Candidate::felt_at(double temperature_c) const {
  return std::max(0.0, mean_felt + (temperature_c - mean_c) * variance_felt / covariance);
}

void HeatEstimate::add(double power_w, double temperature_c, Duration span) {
  const double span_s = seconds(span);
  if (span_s <= 0) return;
  const bool first = samples_ == 0;
  ++samples_;
  seen_s_ += span_s;
  const double weight = std::max(1 / samples_, 1 - std::exp(-span_s / kMemorySeconds));
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& one = candidates_[i];
    one.time_s = kTimes[i % kTimes.size()];
    if (first && i < kTimes.size()) one.felt_w = power_w;
    one.felt_w += (1 - std::exp(-span_s / one.time_s)) * (power_w - one.felt_w);
    const double off_felt = one.felt_w - one.mean_felt;
    const double off_c = temperature_c - one.mean_c;
    one.mean_felt += weight * off_felt;
    one.mean_c += weight * off_c;
    one.variance_felt = (1 - weight) * (one.variance_felt + weight * off_felt * off_felt);
    one.variance_c = (1 - weight) * (one.variance_c + weight * off_c * off_c);
    one.covariance = (1 - weight) * (one.covariance + weight * off_felt * off_c);
  }
}

void HeatEstimate::skip(double temperature_c, Duration span) {
  if (samples_ == 0) return;
  for (Candidate& one : candidates_) {
    one.felt_w = one.tells() ? one.felt_at(temperature_c)
                             : one.felt_w * std::exp(-seconds(span) / one.time_s);
  }
}

const HeatEstimate::Candidate& HeatEstimate::best() const {
  const Candidate* found = nullptr;
  for (const Candidate& one : candidates_) {
    if (one.tells() && (found == nullptr || one.residual() < found->residual())) found = &one;
  }
  return found != nullptr ? *found : candidates_[kAssumed];
}

std::optional<double> HeatEstimate::c_per_w() const {
  const Candidate& one = best();
  if (seen_s_ < kLeastSeconds || !one.tells()) return std::nullopt;
  return one.covariance / one.variance_felt;
}

std::optional<double> HeatEstimate::power_w(double temperature_c, double limit_c,
                                            Duration horizon) const {
  if (samples_ == 0) return std::nullopt;
  const double left_c = limit_c - temperature_c;
  if (const auto known = c_per_w()) {
    const double reached = 1 - std::exp(-seconds(horizon) / time_s());
    return felt_w() + left_c / (std::max(kLeastCPerW, *known) * reached);
  }
  if (left_c > kNear) return std::nullopt;
  const double guess = (temperature_c - kSurroundingsC) / std::max(kLeastFeltW, felt_w());
  return felt_w() + left_c / std::max(kLeastCPerW, guess);
}

}  // namespace gearshift
