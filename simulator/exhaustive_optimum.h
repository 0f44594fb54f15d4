// The best setting of a problem by looking at all of them: what a search is measured against.
#pragma once

#include <cstddef>
#include <optional>

#include "simulator/simulation.h"

namespace gearshift {

struct ExhaustiveOptimum {
  Setting setting;
  TrueCost cost;
  double value = 0;          // as judged() has it
  std::size_t settings = 0;  // that have a cost
};

// The problem's goal; a weighted one with the true cost of the setting that the controller takes
// for its reference (ReferenceSearch), unless the problem gives one.
Goal judging_goal(const SimulationProblem& problem);

// What the goal minimises (Goal::cost), of one task's true cost; seconds of latency. Nullopt where
// a limit of the goal is broken: power above the cap, the energy of a sample, a minibatch that
// takes longer than its batch takes to arrive, a latency above its limit.
std::optional<double> judged(const Goal& goal, Kind kind, std::int32_t batch_size,
                             const TrueCost& cost);

// Over every setting of the problem's knobs and batch sizes that has a cost. Ties go to the lower
// power, then to the earlier mode. Nullopt where none keeps the limits. The problem has one task.
std::optional<ExhaustiveOptimum> exhaustive_optimum(const SimulationProblem& problem);

}  // namespace gearshift
