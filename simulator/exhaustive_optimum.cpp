#include "simulator/exhaustive_optimum.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "controller/reference_search.h"
#include "controller/serving.h"

namespace gearshift {
namespace {

// Whether a setting keeps up and answers in time at the rate that is planned for.
bool keeps_planned_pace(Goal goal, Kind kind, std::int32_t batch_size, double minibatch_s) {
  if (goal.one_by_one && goal.latency && goal.arrivals_per_s > 0) {
    goal.arrivals_per_s = std::max(goal.arrivals_per_s, least_planned_per_s(*goal.latency));
  }
  return goal.keeps_pace(kind, batch_size, minibatch_s);
}

// Whether a run cuts such a setting short for requests that are late.
bool is_cut_late(Goal goal, Kind kind, std::int32_t batch_size, double minibatch_s) {
  if (!goal.one_by_one) return false;
  goal.objective = Objective::time;  // queues are cut where there is no end to them
  return !keeps_planned_pace(goal, kind, batch_size, minibatch_s);
}

bool keeps_power(const Goal& goal, const TrueCost& cost) {
  return !goal.power_mw || cost.power_w <= static_cast<double>(*goal.power_mw) / 1000;
}

std::optional<TrueCost> mean_cost(const Goal& goal, const SimulatedTask& task,
                                  const PowerMode& mode, std::int32_t batch_size) {
  const auto cost = task.costs->cost(mode, batch_size);
  if (!cost) return std::nullopt;
  return with_pauses(goal, task, mode, batch_size, *cost);
}

}  // namespace

TrueCost with_pauses(const Goal& goal, const SimulatedTask& task, const PowerMode& mode,
                     std::int32_t batch_size, TrueCost cost) {
  if (!task.arrivals || goal.arrivals_per_s <= 0) return cost;
  const double busy = goal.arrivals_per_s * cost.minibatch_ms / 1e3 / batch_size;
  cost.power_w = std::lerp(task.costs->idle_power_w(mode), cost.power_w, std::min(1.0, busy));
  return cost;
}

Goal judging_goal(const SimulationProblem& problem, const std::optional<Setting>& reference) {
  Goal goal = problem.goal;
  goal.one_by_one = goal.one_by_one || problem.tasks.front().arrivals.has_value();
  if (goal.objective != Objective::weighted || goal.has_reference()) return goal;
  const SimulatedTask& task = problem.tasks.front();
  const auto measure_against = [&](const TrueCost& cost, std::int32_t batch_size) {
    goal.reference_s = cost.minibatch_ms / 1e3 / batch_size;
    goal.reference_j = goal.drawn_s(task.kind, goal.reference_s) * cost.power_w;
  };
  if (reference) {
    const std::int32_t batch_size = reference->batch_size[index(task.kind)];
    const auto cost = mean_cost(goal, task, reference->mode, batch_size);
    if (cost) measure_against(*cost, batch_size);
    return goal;
  }
  const std::vector<PowerMode> modes = unmeasured_order(problem.knobs);
  ReferenceSearch search(modes.size(), smaller_batches(task.batch_sizes, task.batch_size));
  while (const auto place = search.next()) {
    const std::int32_t batch_size =
        smaller_batch(task.batch_sizes, task.batch_size, place->smaller);
    const auto cost = mean_cost(goal, task, modes[place->mode], batch_size);
    if (!cost || !keeps_power(goal, *cost)) {
      search.failed();
    } else if (is_cut_late(goal, task.kind, batch_size, cost->minibatch_ms / 1e3)) {
      search.late();
    } else {
      measure_against(*cost, batch_size);
      search.measured();
    }
  }
  return goal;
}

std::optional<double> judged(const Goal& goal, Kind kind, std::int32_t batch_size,
                             const TrueCost& cost) {
  if (!keeps_power(goal, cost)) return std::nullopt;
  const double minibatch_s = cost.minibatch_ms / 1000;
  if (!goal.keeps_energy(kind, batch_size, minibatch_s, cost.power_w)) return std::nullopt;
  if (!keeps_planned_pace(goal, kind, batch_size, minibatch_s)) return std::nullopt;
  const bool answers = kind == Kind::infer && goal.arrivals_per_s > 0;
  if (goal.objective == Objective::latency && !answers) return std::nullopt;
  return goal.value(kind, batch_size, minibatch_s, cost.power_w);
}

std::optional<ExhaustiveOptimum> exhaustive_optimum(const SimulationProblem& problem,
                                                    const std::optional<Setting>& reference) {
  assert(problem.tasks.size() == 1);
  const SimulatedTask& task = problem.tasks.front();
  const Goal goal = judging_goal(problem, reference);
  std::optional<ExhaustiveOptimum> best;
  std::size_t settings = 0;
  for (const PowerMode& mode : unmeasured_order(problem.knobs)) {
    for (const std::int32_t batch_size : task.batch_sizes) {
      const auto cost = mean_cost(goal, task, mode, batch_size);
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
