// What CostProcess expects of its parameters, and what they make of the cost model.
#include "policies/numerics/cost_parameters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/numerics/cost_process.h"

namespace gearshift {
namespace {

// How far a workload's demands may be from another one's: a factor of e^this.
constexpr double kScaleDeviation = 1.5, kDemandDeviation = 0.8, kNeutralDeviation = 1.2;
constexpr double kKgDeviation = 0.5, kConstantDeviation = 0.5, kLoadDeviation = 0.5;
// How far the parts of the board's power may be from its model. What has none draws from a watt to
// a kilowatt, and a stand-in's power says next to nothing of that.
constexpr double kPowerDeviation = 0.04, kStandInPowerDeviation = 1.5;
constexpr double kCpuPowerDeviation = 0.2, kMemoryPowerDeviation = 0.2, kGpuPowerDeviation = 0.15;
// How far a board without a model moves its power at all: of a logarithm of the logarithm.
constexpr double kReachDeviation = 0.7, kSameReachDeviation = 0.1;
// How much of one workload's misfit another one shares.
constexpr double kShare = 0.35, kShareDeviation = 0.2;
// A table of this very workload, measured another day: all may be slower or faster alike, little
// else has changed.
constexpr double kSameShareDeviation = 0.1, kSameSlopeDeviation = 0.1;
constexpr double kSameScale = 0.25, kSameDemand = 0.1, kSameKg = 0.1, kSamePart = 0.05;
constexpr double kUnknownSlope = 0.4, kUnknownDeviation = 0.5;
// Of a power limit: by which power of the power it keeps away time grows, and how far from the
// limit (natural logarithm) power is where it holds, since more than what it limits may be counted.
constexpr double kLimitCost = 0.5, kLimitCostDeviation = 0.3, kLimitDeviation = 0.1;

constexpr double kMostLog = 12;

}  // namespace

void CostProcess::expect() {
  const auto unknown = static_cast<Eigen::Index>(centre_.unknown.size());
  const Eigen::Index scaling = constants_ ? kConstants + 1 : fixed_share_ ? 1 : 0;
  const Eigen::Index reach = centre_.own ? 0 : 1;
  const Eigen::Index count = kCommon + scaling + reach + 2 * unknown;
  expected_ = Vector::Zero(count);
  deviation_ = Vector::Constant(count, prior_.known ? kDemandDeviation : kNeutralDeviation);
  deviation_[kScale] = kScaleDeviation;
  deviation_[kKg] = kKgDeviation;
  expect_power();
  expected_[kPower] = prior_.log_power_scale;
  expected_[kTimeShare] = expected_[kPowerShare] = kShare;
  deviation_[kTimeShare] = deviation_[kPowerShare] = kShareDeviation;
  deviation_[kCpuPower] = kCpuPowerDeviation;
  deviation_[kMemoryPower] = kMemoryPowerDeviation;
  deviation_[kGpuPower] = kGpuPowerDeviation;
  deviation_.segment(kCommon, scaling).setConstant(kConstantDeviation);
  if (constants_) deviation_[kLoad] = prior_.known ? kLoadDeviation : kNeutralDeviation;
  if (prior_.same) {
    deviation_.segment(kDemand, kConstants).setConstant(kSameDemand);
    deviation_[kScale] = kSameScale;
    expected_[kScale] = time_trend_[0];
    expected_[kPower] += power_trend_[0];
    deviation_[kKg] = kSameKg;
    expected_[kTimeShare] = expected_[kPowerShare] = 1;
    deviation_[kTimeShare] = deviation_[kPowerShare] = kSameShareDeviation;
    deviation_[kCpuPower] = deviation_[kMemoryPower] = deviation_[kGpuPower] = kSamePart;
    deviation_.segment(kCommon, scaling).setConstant(kSameDemand);
  }
  if (reach > 0)
    deviation_[kCommon + scaling] = prior_.same ? kSameReachDeviation : kReachDeviation;
  for (Eigen::Index k = 0; k < unknown; ++k) {
    const Eigen::Index at = kCommon + scaling + reach + 2 * k;
    expected_[at] = prior_.same ? time_trend_[k + 1] : -kUnknownSlope;
    expected_[at + 1] = prior_.same ? power_trend_[k + 1] : kUnknownSlope;
    deviation_[at] = deviation_[at + 1] = prior_.same ? kSameSlopeDeviation : kUnknownDeviation;
    if (!limits_power(static_cast<std::size_t>(k))) continue;
    expected_[at] = kLimitCost;
    deviation_[at] = kLimitCostDeviation;
    expected_[at + 1] = 0;
    deviation_[at + 1] = kLimitDeviation;
  }
}

void CostProcess::expect_power() {
  deviation_[kPower] = centre_.own || prior_.same ? kPowerDeviation : kStandInPowerDeviation;
}

CostProcess::Hypothesis CostProcess::hypothesis(const Vector& parameters) const {
  Hypothesis at{parameters, prior_.workload, centre_.device, {}, {}};
  const auto factor = [&](double log) { return std::exp(std::clamp(log, -kMostLog, kMostLog)); };
  const auto scale = [&](Demand& demand, bool constant) {
    double* parts[] = {&demand.A, &demand.B, &demand.L, &demand.P, &demand.O};
    for (Eigen::Index i = 0; i < kConstants; ++i) {
      *parts[i] *= factor(parameters[kScale] + parameters[kDemand + i] +
                          (constant ? parameters[kCommon + i] : 0.0));
    }
  };
  scale(at.workload.base, constants_);
  scale(at.workload.slope, false);
  if (constants_) at.workload.slope.S *= factor(parameters[kLoad]);
  if (fixed_share_) at.workload.a0 *= factor(parameters[kCommon]);
  at.workload.base.kg *= factor(parameters[kKg]);
  at.device.ci *= factor(parameters[kCpuPower]);
  at.device.cc *= factor(parameters[kCpuPower]);
  at.device.m0 *= factor(parameters[kMemoryPower]);
  at.device.d *= factor(parameters[kMemoryPower]);
  at.device.gi *= factor(parameters[kGpuPower]);
  if (!centre_.own) {
    const Place& lowest = places_.front();
    at.log_lowest_w = std::log(
        minibatch_cost(at.device, at.workload.demand(lowest.batch_size), lowest.mode).power_w);
    at.reach = factor(
        parameters[parameters.size() - 2 * static_cast<Eigen::Index>(centre_.unknown.size()) - 1]);
  }
  return at;
}

CostProcess::Mean CostProcess::model(const Hypothesis& at, std::size_t setting) const {
  const Place& place = places_[setting];
  const MinibatchCost cost =
      minibatch_cost(at.device, at.workload.demand(place.batch_size), place.mode);
  const Vector& p = at.parameters;
  const double log_power = at.log_lowest_w + at.reach * (std::log(cost.power_w) - at.log_lowest_w);
  Mean mean{std::log(cost.minibatch_ms) + p[kTimeShare] * prior_.settings[setting].time_misfit,
            log_power + p[kPower] + p[kPowerShare] * prior_.settings[setting].power_misfit};
  const std::size_t unknown = centre_.unknown.size();
  double log_limit = std::numeric_limits<double>::infinity();
  double limit_cost = 0;
  for (std::size_t k = 0; k < unknown; ++k) {
    const double log = unknown_[setting * unknown + k];
    const Eigen::Index slope = p.size() - 2 * static_cast<Eigen::Index>(unknown - k);
    if (limits_power(k)) {
      limit_cost = p[slope];
      log_limit = p[slope + 1] + log + centre_.power_limit->log_highest_w;
      continue;
    }
    mean.log_time += p[slope] * log;
    mean.log_power += p[slope + 1] * log;
  }
  if (mean.log_power > log_limit) {  // a limit that is not reached changes nothing
    mean.log_time += limit_cost * (mean.log_power - log_limit);
    mean.log_power = log_limit;
  }
  return mean;
}

}  // namespace gearshift
