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
                                 std::int32_t infer_batch, const TrueCost& train,
                                 const TrueCost& infer) {
  BesideCost cost;
  cost.train = train;
  cost.infer = infer;
  const bool silence = goal.arrivals_per_s <= 0;
  const double fill_s = silence ? 0 : infer_batch / goal.arrivals_per_s;
  const double infer_s = silence ? 0 : infer.minibatch_ms / 1e3;
  const double train_s = train.minibatch_ms / 1e3;
  if (infer_s > fill_s) return std::nullopt;
  if (goal.latency && fill_s + infer_s > seconds(*goal.latency)) return std::nullopt;
  if (silence) {
    cost.power_w = train.power_w;
    cost.minibatches_per_s = 1 / train_s;
  } else if (how == Beside::windows) {
    cost.power_w = std::max(train.power_w, infer.power_w);
    cost.minibatches_per_s = std::floor((fill_s - infer_s) / train_s) / fill_s;
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
      const auto cost = beside(goal, how, problem.power_window(), batch_size, *trained, *served);
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
