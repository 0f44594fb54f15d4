#include "policies/numerics/surface.h"

#include <cmath>

#include "policies/numerics/goal_judge.h"
#include "policies/numerics/normal.h"
#include "policies/numerics/pareto_front.h"

namespace gearshift {
namespace {

bool allowed(const Surface& surface, std::size_t i, const SurfaceChoice& among) {
  if (surface.excluded[i] != 0) return false;
  const double high = static_cast<double>(surface.log_power[i]) +
                      among.deviations * static_cast<double>(surface.power_deviation[i]);
  return high <= std::log(among.power_w);
}

// Infinity where it is not in time.
double value_of(const Surface& surface, const SettingGrid& grid, const Goal& goal, std::size_t i,
                double time_deviations) {
  const double batch_size = grid.batch_size(i);
  const double log_time = static_cast<double>(surface.log_time[i]);
  const double late = time_deviations * static_cast<double>(surface.time_deviation[i]);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (!goal.keeps_pace(grid.kind(), batch_size, std::exp(log_time + late) / 1e3)) return kNever;
  const double minibatch_s = std::exp(log_time) / 1e3;
  const double power_w = std::exp(static_cast<double>(surface.log_power[i]));
  if (!goal.keeps_limits(grid.kind(), batch_size, minibatch_s, power_w)) return kNever;
  return goal.value(grid.kind(), batch_size, minibatch_s, power_w);
}

}  // namespace

Surface roofline_surface(const DeviceParameters& device, const RooflineEstimate& estimate,
                         const SettingGrid& grid) {
  Surface surface(grid.size());
  std::vector<RooflinePredictor> of_batch;
  for (const std::int64_t size : grid.batch_sizes()) {
    of_batch.emplace_back(device, estimate, static_cast<double>(size));
  }
  // The batch size is the dimension that runs fastest.
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const RooflinePrediction one = of_batch[i % of_batch.size()].predict(grid.mode(i));
    surface.log_time[i] = static_cast<float>(one.log_time);
    surface.log_power[i] = static_cast<float>(one.log_power);
    surface.time_deviation[i] = static_cast<float>(one.time_deviation);
    surface.power_deviation[i] = static_cast<float>(one.power_deviation);
  }
  return surface;
}

std::optional<std::size_t> best_setting(const Surface& surface, const SettingGrid& grid,
                                        const Goal& goal, const SurfaceChoice& among) {
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < surface.size(); ++i) {
    if (!allowed(surface, i, among)) continue;
    const double value = value_of(surface, grid, goal, i, among.time_deviations);
    if (!(value < least)) continue;
    least = value;
    best = i;
  }
  return best;
}

std::optional<std::size_t> least_known_setting(const Surface& surface, const SettingGrid& grid,
                                               const Goal& goal, const SurfaceChoice& among) {
  const bool cut = goal.one_by_one && grid.kind() == Kind::infer;
  const GoalJudge judge(goal, grid.kind(), among.power_w);
  std::optional<std::size_t> widest;
  double most = 0;
  for (std::size_t i = 0; i < surface.size(); ++i) {
    const auto deviation = static_cast<double>(surface.time_deviation[i]);
    double width = deviation * static_cast<double>(surface.power_deviation[i]);
    if (!(width > most) || !allowed(surface, i, among)) continue;
    if (cut) {
      const double most_ms = judge.most_ms(grid.batch_size(i));
      if (most_ms <= 0) continue;
      const double spare = std::log(most_ms) - static_cast<double>(surface.log_time[i]);
      width *= normal_odds(spare / deviation);
    }
    if (!(width > most)) continue;
    most = width;
    widest = i;
  }
  return widest;
}

std::vector<std::size_t> surface_front(const Surface& surface, const SettingGrid& grid,
                                       const Goal& goal, const SurfaceChoice& among,
                                       std::size_t most) {
  std::vector<CostPair> costs(surface.size());
  for (std::size_t i = 0; i < surface.size(); ++i) {
    costs[i].first = static_cast<double>(surface.log_power[i]);
    costs[i].second = allowed(surface, i, among)
                          ? value_of(surface, grid, goal, i, among.time_deviations)
                          : std::numeric_limits<double>::infinity();
  }
  std::vector<std::size_t> front = pareto_front(costs);
  if (front.size() <= most) return front;
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < most; ++i) {
    drawn.push_back(front[most == 1 ? 0 : i * (front.size() - 1) / (most - 1)]);
  }
  return drawn;
}

}  // namespace gearshift
