#include "simulator/exhaustive_optimum.h"

#include <cassert>

#include "controller/reference_search.h"

namespace gearshift {
namespace {

bool keeps_power(const Goal& goal, const TrueCost& cost) {
  return !goal.power_mw || cost.power_w <= static_cast<double>(*goal.power_mw) / 1000;
}

}  // namespace

Goal judging_goal(const SimulationProblem& problem) {
  Goal goal = problem.goal;
  if (goal.objective != Objective::weighted || goal.has_reference()) return goal;
  const SimulatedTask& task = problem.tasks.front();
  const std::vector<PowerMode> modes = unmeasured_order(problem.knobs);
  ReferenceSearch search(modes.size(), smaller_batches(task.batch_sizes, task.batch_size));
  while (const auto place = search.next()) {
    const std::int32_t batch_size =
        smaller_batch(task.batch_sizes, task.batch_size, place->smaller);
    const auto cost = task.costs->cost(modes[place->mode], batch_size);
    if (cost && keeps_power(goal, *cost)) {
      goal.reference_s = cost->minibatch_ms / 1e3 / batch_size;
      goal.reference_j = goal.reference_s * cost->power_w;
      search.measured();
    } else {
      search.failed();
    }
  }
  return goal;
}

std::optional<double> judged(const Goal& goal, Kind kind, std::int32_t batch_size,
                             const TrueCost& cost) {
  if (!keeps_power(goal, cost)) return std::nullopt;
  const double minibatch_s = cost.minibatch_ms / 1000;
  const double sample_s = minibatch_s / batch_size;
  if (goal.energy_j && sample_s * cost.power_w > *goal.energy_j) return std::nullopt;
  if (kind == Kind::infer && goal.arrivals_per_s > 0) {
    const double fill_s = batch_size / goal.arrivals_per_s;
    if (minibatch_s > fill_s) return std::nullopt;
    const double latency_s = fill_s + minibatch_s;
    if (goal.latency && latency_s > seconds(*goal.latency)) return std::nullopt;
    if (goal.objective == Objective::latency) return latency_s;
  }
  if (goal.objective == Objective::latency) return std::nullopt;
  return goal.cost(sample_s, sample_s * cost.power_w);
}

std::optional<ExhaustiveOptimum> exhaustive_optimum(const SimulationProblem& problem) {
  assert(problem.tasks.size() == 1);
  const SimulatedTask& task = problem.tasks.front();
  const Goal goal = judging_goal(problem);
  std::optional<ExhaustiveOptimum> best;
  std::size_t settings = 0;
  for (const PowerMode& mode : unmeasured_order(problem.knobs)) {
    for (const std::int32_t batch_size : task.batch_sizes) {
      const auto cost = task.costs->cost(mode, batch_size);
      if (!cost) continue;
      ++settings;
      const auto value = judged(goal, task.kind, batch_size, *cost);
      if (!value) continue;
      const bool better = !best || *value < best->value ||
                          (*value == best->value && cost->power_w < best->cost.power_w);
      if (!better) continue;
      Setting setting{.mode = mode,
                      .batch_size = {},
                      .run = task.kind == Kind::train ? Run::train : Run::infer};
      setting.batch_size[index(task.kind)] = batch_size;
      best = {setting, *cost, *value, 0};
    }
  }
  if (best) best->settings = settings;
  return best;
}

}  // namespace gearshift
