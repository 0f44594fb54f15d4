#include "simulator/interleaved_optimum.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

namespace gearshift {
namespace {

const SimulatedTask& task_of(const SimulationProblem& problem, Kind kind) {
  const auto found = std::find_if(problem.tasks.begin(), problem.tasks.end(),
                                  [&](const SimulatedTask& task) { return task.kind == kind; });
  assert(found != problem.tasks.end());
  return *found;
}

}  // namespace

std::optional<BesideCost> beside(const Goal& goal, Beside how, std::int32_t infer_batch,
                                 const TrueCost& train, const TrueCost& infer) {
  BesideCost cost;
  cost.train = train;
  cost.infer = infer;
  const double fill_s = infer_batch / goal.arrivals_per_s;
  const double infer_s = infer.minibatch_ms / 1e3;
  const double train_s = train.minibatch_ms / 1e3;
  if (infer_s > fill_s) return std::nullopt;
  if (goal.latency && fill_s + infer_s > seconds(*goal.latency)) return std::nullopt;
  if (how == Beside::windows) {
    cost.power_w = std::max(train.power_w, infer.power_w);
    cost.minibatches_per_s = std::floor((fill_s - infer_s) / train_s) / fill_s;
  } else {
    const double busy = infer_s / fill_s;
    cost.power_w = busy * infer.power_w + (1 - busy) * train.power_w;
    cost.minibatches_per_s = (1 - busy) / train_s;
  }
  if (goal.power_mw && cost.power_w > static_cast<double>(*goal.power_mw) / 1000) {
    return std::nullopt;
  }
  return cost;
}

std::optional<InterleavedOptimum> interleaved_optimum(const SimulationProblem& problem,
                                                      const Goal& goal, Beside how, Time at) {
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
      const auto cost = beside(goal, how, batch_size, *trained, *served);
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

}  // namespace gearshift
