#include "policies/numerics/surface.h"

#include <cmath>

#include "policies/numerics/pareto_front.h"

namespace gearshift {
namespace {

bool allowed(const Surface& surface, std::size_t i, const SurfaceChoice& among) {
  if (surface.excluded[i] != 0) return false;
  const double high = static_cast<double>(surface.log_power[i]) +
                      among.deviations * static_cast<double>(surface.power_deviation[i]);
  return high <= std::log(among.power_w);
}

// For how long mean power counts as a sample's.
double drawn_s(const Goal& goal, Kind kind, double sample_s) {
  return kind == Kind::infer ? goal.drawn_s(sample_s) : sample_s;
}

// Infinity where it is not in time.
double value_of(const Surface& surface, const SettingGrid& grid, const Goal& goal, std::size_t i,
                double time_deviations) {
  const double batch_size = grid.batch_size(i);
  const double log_time = static_cast<double>(surface.log_time[i]);
  const double late = time_deviations * static_cast<double>(surface.time_deviation[i]);
  if (!keeps_up(goal, grid.kind(), batch_size, std::exp(log_time + late))) {
    return std::numeric_limits<double>::infinity();
  }
  const double minibatch_ms = std::exp(log_time);
  const double power_w = std::exp(static_cast<double>(surface.log_power[i]));
  if (!keeps_limits(goal, grid.kind(), batch_size, minibatch_ms, power_w)) {
    return std::numeric_limits<double>::infinity();
  }
  return goal_value(goal, grid.kind(), batch_size, minibatch_ms, power_w);
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

double goal_value(const Goal& goal, Kind kind, double batch_size, double minibatch_ms,
                  double power_w) {
  const double sample_s = minibatch_ms / 1e3 / batch_size;
  if (goal.objective == Objective::latency && kind == Kind::infer && goal.arrivals_per_s > 0) {
    return batch_size * (sample_s + 1 / goal.arrivals_per_s);
  }
  return goal.cost(sample_s, drawn_s(goal, kind, sample_s) * power_w);
}

bool keeps_limits(const Goal& goal, Kind kind, double batch_size, double minibatch_ms,
                  double power_w) {
  const double sample_s = minibatch_ms / 1e3 / batch_size;
  if (goal.energy_j && drawn_s(goal, kind, sample_s) * power_w > *goal.energy_j) return false;
  return keeps_up(goal, kind, batch_size, minibatch_ms);
}

bool keeps_up(const Goal& goal, Kind kind, double batch_size, double minibatch_ms) {
  if (kind != Kind::infer || goal.arrivals_per_s <= 0) return true;
  const double wait_s = batch_size / goal.arrivals_per_s;
  const double minibatch_s = minibatch_ms / 1e3;
  return minibatch_s <= goal.most_busy() * wait_s &&
         (!goal.latency || wait_s + minibatch_s <= seconds(*goal.latency));
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

std::optional<std::size_t> least_known_setting(const Surface& surface, const SurfaceChoice& among) {
  std::optional<std::size_t> widest;
  float most = 0;
  for (std::size_t i = 0; i < surface.size(); ++i) {
    const float width = surface.time_deviation[i] * surface.power_deviation[i];
    if (!(width > most) || !allowed(surface, i, among)) continue;
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
