#include "policies/numerics/roofline_design.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace gearshift {
namespace {

// Those without a demand at all cannot be told from those with very little.
constexpr double kLeastDemand = 1e-3;

// Predicts every candidate; they have few batch sizes.
class Predictors {
 public:
  Predictors(const DeviceParameters& device, const RooflineEstimate& estimate)
      : device_(device), estimate_(estimate) {}

  RooflinePrediction predict(const RooflineRow& row) {
    const auto [found, is_new] =
        of_batch_.try_emplace(row.batch_size, device_, estimate_, row.batch_size);
    return found->second.predict(row.mode);
  }

 private:
  const DeviceParameters& device_;
  const RooflineEstimate& estimate_;
  std::map<double, RooflinePredictor> of_batch_;
};

}  // namespace

RooflineEstimate estimate_of(const WorkloadParameters& workload) {
  RooflineEstimate estimate;
  estimate.shape = {workload.kind, workload.base.workers, workload.base.fetch_ms,
                    workload.reference_batch};
  const auto demands = [&](const Demand& demand, std::size_t first) {
    const double parts[] = {demand.A, demand.B, demand.L, demand.P, demand.O};
    for (std::size_t i = 0; i < 5; ++i) {
      estimate.logs[first + i] = std::log(std::max(kLeastDemand, parts[i]));
    }
  };
  const bool trains = workload.kind == Kind::train;
  demands(trains ? workload.base : workload.slope, 0);
  if (trains) {
    estimate.logs[5] = std::log(std::max(kLeastDemand, workload.a0));
  } else {
    demands(workload.base, 5);
  }
  estimate.logs[estimate.count() - 2] = std::log(std::max(kLeastDemand, workload.base.kg));
  return estimate;
}

DesignedFit fit_by_design(const DeviceParameters& device, std::span<const RooflineRow> candidates,
                          const RooflineEstimate& expected, std::size_t count, std::uint64_t seed) {
  DesignedFit fit;
  fit.estimate = expected;
  if (candidates.empty()) return fit;
  std::mt19937_64 engine(seed);
  std::vector<bool> taken(candidates.size());
  std::vector<RooflineRow> rows;
  std::size_t next = engine() % candidates.size();
  while (true) {
    taken[next] = true;
    fit.chosen.push_back(next);
    rows.push_back(candidates[next]);
    fit.estimate = fit_roofline(device, rows, expected.shape, &expected);
    if (rows.size() >= std::min({count, candidates.size(), kMostRooflineRows})) break;
    Predictors predictors(device, fit.estimate);
    double most = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (taken[i]) continue;
      const RooflinePrediction one = predictors.predict(candidates[i]);
      const double width = one.time_deviation * one.power_deviation;
      if (width <= most) continue;
      most = width;
      next = i;
    }
  }
  Predictors predictors(device, fit.estimate);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (taken[i]) continue;
    const RooflinePrediction one = predictors.predict(candidates[i]);
    const double others = static_cast<double>(candidates.size() - fit.chosen.size());
    fit.time_error += std::fabs(std::exp(one.log_time) / candidates[i].minibatch_ms - 1) / others;
    fit.power_error += std::fabs(std::exp(one.log_power) / candidates[i].power_w - 1) / others;
  }
  return fit;
}

}  // namespace gearshift
