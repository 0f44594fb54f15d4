#include "simulator/exhaustive_optimum.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "controller/interleaving.h"
#include "controller/reference_search.h"

namespace gearshift {
namespace {

bool keeps_power(const Goal& goal, const TrueCost& cost) {
  return !goal.power_mw || cost.power_w <= static_cast<double>(*goal.power_mw) / 1000;
}

// For how long mean power counts as a sample's.
double drawn_s(const Goal& goal, Kind kind, double sample_s) {
  return kind == Kind::infer ? goal.drawn_s(sample_s) : sample_s;
}

std::optional<TrueCost> mean_cost(const Goal& goal, const SimulatedTask& task,
                                  const PowerMode& mode, std::int32_t batch_size) {
  const auto cost = task.costs->cost(mode, batch_size);
  if (!cost) return std::nullopt;
  return with_pauses(goal, task, mode, batch_size, *cost);
}

// As Observation::answers_in_time; one by one, requests do not wait for a batch to be full.
bool in_time(const Goal& goal, double fill_s, double minibatch_s) {
  if (!goal.latency || fill_s + minibatch_s <= seconds(*goal.latency)) return true;
  return goal.one_by_one && fill_s / 2 + minibatch_s <= seconds(planned_latency(*goal.latency));
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
    goal.reference_j = drawn_s(goal, task.kind, goal.reference_s) * cost.power_w;
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
    if (cost && keeps_power(goal, *cost)) {
      measure_against(*cost, batch_size);
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
  const double sample_j = drawn_s(goal, kind, sample_s) * cost.power_w;
  if (goal.energy_j && sample_j > *goal.energy_j) return std::nullopt;
  if (kind == Kind::infer && goal.arrivals_per_s > 0) {
    const double fill_s = batch_size / goal.arrivals_per_s;
    if (minibatch_s > goal.most_busy() * fill_s) return std::nullopt;
    if (!in_time(goal, fill_s, minibatch_s)) return std::nullopt;
    if (goal.objective == Objective::latency) return fill_s + minibatch_s;
  }
  if (goal.objective == Objective::latency) return std::nullopt;
  return goal.cost(sample_s, sample_j);
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
