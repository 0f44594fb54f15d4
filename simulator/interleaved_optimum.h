// The most training beside inference on one accelerator, by looking at every setting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "simulator/simulation.h"

namespace gearshift {

// What counts as training beside inference. One minibatch runs at a time either way.
enum class Beside : std::uint8_t {
  // Requests come like clockwork: whole training minibatches between two inference minibatches, and
  // the higher of both powers (the concurrent problem of docs/evaluation.md).
  windows,
  // Requests come one by one: training in all the time that inference leaves over, and the highest
  // mean of both powers over a window, since that is what a cap is held against.
  requests,
};

// The highest mean power, W, that a window of `window_s` sees of a minibatch of inference,
// `infer_s` long, every `fill_s`, with training in all the time between. All in seconds, above 0;
// `infer_s` is at most `fill_s`.
double highest_window_w(double window_s, double fill_s, double infer_s, double infer_w,
                        double train_w);

struct BesideCost {
  TrueCost train;
  TrueCost infer;
  double power_w = 0;
  double minibatches_per_s = 0;  // of training
};

// Of one training and one inference minibatch, the latter of so many requests, which is full in
// time; nullopt where a limit of the goal is broken but that of energy, which is of a training
// sample and so needs a batch size. Where the goal has no rate only training runs;
// `power_window` is what its cap is judged by.
std::optional<BesideCost> beside(const Goal& goal, Beside how, Duration power_window,
                                 double requests, const TrueCost& train, const TrueCost& infer);

// Of a problem with one training and one inference task, whose setting has the training task's
// first batch size, by what it costs at `at`. Where requests come one by one a batch need not be
// full in time: half full on average (controller/interleaving.h) it counts with as many requests as
// come until it is served, at a cost between those of the task's smaller batches. Nullopt where a
// limit is broken, or the setting has no cost.
std::optional<BesideCost> beside(const SimulationProblem& problem, const Goal& goal, Beside how,
                                 const PowerMode& mode, std::int32_t infer_batch, Time at);

// What a cap is held against in that setting, W, whichever limits it keeps: where it is late or
// falls behind, that of full batches, and of inference alone. Nullopt where it has no cost.
std::optional<double> power_beside(const SimulationProblem& problem, Beside how,
                                   const PowerMode& mode, std::int32_t infer_batch, Time at);

struct InterleavedOptimum {
  Setting setting;
  BesideCost cost;
  std::size_t settings = 0;  // that were looked at
};

// Of a problem with one training and one inference task, by what they cost at `at`; training has
// its first batch size. Of settings whose batches are full in time, as the published problem has
// it, though one that is half full on average may train a little more; of those where requests come
// one by one and no batch is full in time. Ties go to the lower power, then to the smaller batch.
// Nullopt where no setting keeps the limits.
std::optional<InterleavedOptimum> interleaved_optimum(const SimulationProblem& problem,
                                                      const Goal& goal, Beside how, Time at);

}  // namespace gearshift
