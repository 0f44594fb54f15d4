#include "simulator/interleaved_optimum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "controller/interleaving.h"
#include "controller/whole_minibatches.h"

namespace gearshift {
namespace {

const SimulatedTask& task_of(const SimulationProblem& problem, Kind kind) {
  const auto found = std::find_if(problem.tasks.begin(), problem.tasks.end(),
                                  [&](const SimulatedTask& task) { return task.kind == kind; });
  assert(found != problem.tasks.end());
  return *found;
}

// Of so many requests, between the costs of the task's batch sizes below and above.
std::optional<TrueCost> cost_of(const SimulatedTask& task, const PowerMode& mode, double requests,
                                Time at) {
  std::int32_t below = 0;
  std::int32_t above = 0;
  for (const std::int32_t size : task.batch_sizes) {
    if (size <= requests) below = std::max(below, size);
    if (size >= requests && (above == 0 || size < above)) above = size;
  }
  if (above == 0) return std::nullopt;
  std::optional<TrueCost> cost = task.costs_at(at).cost(mode, above);
  if (below == 0 || below == above || !cost) return cost;
  const std::optional<TrueCost> less = task.costs_at(at).cost(mode, below);
  if (!less) return std::nullopt;
  const double share = (requests - below) / (above - below);
  cost->minibatch_ms = std::lerp(less->minibatch_ms, cost->minibatch_ms, share);
  cost->power_w = std::lerp(less->power_w, cost->power_w, share);
  return cost;
}

bool keeps_energy(const Goal& goal, const TrueCost& train, std::int32_t train_batch) {
  return !goal.energy_j || train.minibatch_ms / 1e3 / train_batch * train.power_w <= *goal.energy_j;
}

// How many requests a batch has on average that is served when one of them would become late;
// nullopt where that is less than half of it, or nothing trains.
std::optional<double> requests_by_chance(const Goal& goal, std::int32_t infer_batch,
                                         const TrueCost& train, const TrueCost& infer) {
  const auto of_ms = [](double ms) { return Duration(std::llround(1e6 * ms)); };
  const Duration half_batch = of_ms(500.0 * infer_batch / goal.arrivals_per_s);
  if (of_ms(train.minibatch_ms) >
      longest_beside_half_full(*goal.latency, half_batch, of_ms(infer.minibatch_ms))) {
    return std::nullopt;
  }
  const double come_s =
      seconds(planned_latency(*goal.latency)) - (infer.minibatch_ms + train.minibatch_ms / 2) / 1e3;
  return std::min<double>(infer_batch, goal.arrivals_per_s * come_s);
}

// The best of all settings by what `cost_of` makes of them, nullopt where a limit is broken.
template <typename CostOf>
std::optional<InterleavedOptimum> best_setting(const SimulationProblem& problem, Time at,
                                               CostOf cost_of) {
  const SimulatedTask& train = task_of(problem, Kind::train);
  const SimulatedTask& infer = task_of(problem, Kind::infer);
  std::optional<InterleavedOptimum> best;
  std::size_t settings = 0;
  const auto rank = [](const BesideCost& cost, std::int32_t batch_size) {
    return std::tuple(-cost.minibatches_per_s, cost.power_w, batch_size);
  };
  for (const PowerMode& mode : unmeasured_order(problem.knobs)) {
    const auto trained = train.costs_at(at).cost(mode, train.batch_sizes.front());
    if (!trained) continue;
    for (const std::int32_t batch_size : infer.batch_sizes) {
      const auto served = infer.costs_at(at).cost(mode, batch_size);
      if (!served) continue;
      ++settings;
      const std::optional<BesideCost> cost = cost_of(*trained, *served, mode, batch_size);
      if (!cost) continue;
      if (best && rank(*cost, batch_size) >=
                      rank(best->cost, best->setting.batch_size[index(Kind::infer)])) {
        continue;
      }
      Setting setting{.mode = mode, .batch_size = {}, .run = Run::both};
      setting.batch_size[index(Kind::train)] = train.batch_sizes.front();
      setting.batch_size[index(Kind::infer)] = batch_size;
      best = {setting, *cost, 0};
    }
  }
  if (best) best->settings = settings;
  return best;
}

}  // namespace

double highest_window_w(double window_s, double fill_s, double infer_s, double infer_w,
                        double train_w) {
  const double whole = std::floor(window_s / fill_s);
  const double rest_s = window_s - whole * fill_s;
  // The rest of the window begins with whichever draws more.
  const double rest_infer_s =
      infer_w > train_w ? std::min(rest_s, infer_s) : std::max(0.0, rest_s - (fill_s - infer_s));
  const double share = (whole * infer_s + rest_infer_s) / window_s;
  return share * infer_w + (1 - share) * train_w;
}

std::optional<BesideCost> beside(const Goal& goal, Beside how, Duration power_window,
                                 double requests, const TrueCost& train, const TrueCost& infer) {
  BesideCost cost;
  cost.train = train;
  cost.infer = infer;
  const bool silence = goal.arrivals_per_s <= 0;
  const double fill_s = silence ? 0 : requests / goal.arrivals_per_s;
  const double infer_s = silence ? 0 : infer.minibatch_ms / 1e3;
  const double train_s = train.minibatch_ms / 1e3;
  if (infer_s > fill_s) return std::nullopt;
  if (goal.latency && fill_s + infer_s > seconds(*goal.latency)) return std::nullopt;
  if (silence) {
    cost.power_w = train.power_w;
    cost.minibatches_per_s = 1 / train_s;
  } else if (how == Beside::windows) {
    cost.power_w = std::max(train.power_w, infer.power_w);
    cost.minibatches_per_s = static_cast<double>(whole_minibatches(1e3 * fill_s, infer.minibatch_ms,
                                                                   train.minibatch_ms)) /
                             fill_s;
  } else {
    cost.power_w =
        highest_window_w(seconds(power_window), fill_s, infer_s, infer.power_w, train.power_w);
    cost.minibatches_per_s = (1 - infer_s / fill_s) / train_s;
  }
  if (goal.power_mw && cost.power_w > static_cast<double>(*goal.power_mw) / 1000) {
    return std::nullopt;
  }
  return cost;
}

std::optional<BesideCost> beside(const SimulationProblem& problem, const Goal& goal, Beside how,
                                 const PowerMode& mode, std::int32_t infer_batch, Time at) {
  const SimulatedTask& train_task = task_of(problem, Kind::train);
  const SimulatedTask& infer_task = task_of(problem, Kind::infer);
  const auto train = train_task.costs_at(at).cost(mode, train_task.batch_sizes.front());
  const auto infer = infer_task.costs_at(at).cost(mode, infer_batch);
  if (!train || !infer) return std::nullopt;
  if (!keeps_energy(goal, *train, train_task.batch_sizes.front())) return std::nullopt;
  const auto full = beside(goal, how, problem.power_window(), infer_batch, *train, *infer);
  const bool by_chance = how == Beside::requests && goal.arrivals_per_s > 0 && goal.latency;
  if (full || !by_chance) return full;
  const auto requests = requests_by_chance(goal, infer_batch, *train, *infer);
  const auto served = requests ? cost_of(infer_task, mode, *requests, at) : std::nullopt;
  if (!served) return std::nullopt;
  Goal in_time = goal;
  in_time.latency.reset();
  return beside(in_time, how, problem.power_window(), *requests, *train, *served);
}

std::optional<double> power_beside(const SimulationProblem& problem, Beside how,
                                   const PowerMode& mode, std::int32_t infer_batch, Time at) {
  Goal free = problem.goal;
  free.power_mw.reset();
  free.energy_j.reset();
  auto cost = beside(problem, free, how, mode, infer_batch, at);
  if (!cost) {
    free.latency.reset();
    cost = beside(problem, free, how, mode, infer_batch, at);
  }
  if (cost) return cost->power_w;
  const SimulatedTask& train = task_of(problem, Kind::train);
  const auto infer = task_of(problem, Kind::infer).costs_at(at).cost(mode, infer_batch);
  if (!infer || !train.costs_at(at).cost(mode, train.batch_sizes.front())) return std::nullopt;
  return infer->power_w;
}

std::optional<InterleavedOptimum> interleaved_optimum(const SimulationProblem& problem,
                                                      const Goal& goal, Beside how, Time at) {
  const auto full = [&](const TrueCost& train, const TrueCost& infer, const PowerMode&,
                        std::int32_t batch_size) -> std::optional<BesideCost> {
    const std::int32_t train_batch = task_of(problem, Kind::train).batch_sizes.front();
    if (!keeps_energy(goal, train, train_batch)) return std::nullopt;
    return beside(goal, how, problem.power_window(), batch_size, train, infer);
  };
  const auto best = best_setting(problem, at, full);
  if (best || how == Beside::windows) return best;
  const auto on_average = [&](const TrueCost&, const TrueCost&, const PowerMode& mode,
                              std::int32_t batch_size) {
    return beside(problem, goal, how, mode, batch_size, at);
  };
  return best_setting(problem, at, on_average);
}

}  // namespace gearshift
