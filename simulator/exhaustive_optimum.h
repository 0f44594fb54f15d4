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

// The cost of a setting of the task, with mean power over the pauses between batches where requests
// come to it one by one and nothing trains beside it, W.
TrueCost with_pauses(const Goal& goal, const SimulatedTask& task, const PowerMode& mode,
                     std::int32_t batch_size, TrueCost cost);

// The problem's goal; one by one where requests come so to its only task; a weighted one with the
// true cost of its reference, unless the problem gives that: of the `reference` that a run had,
// else of the setting that the controller takes under this cap (ReferenceSearch).
Goal judging_goal(const SimulationProblem& problem,
                  const std::optional<Setting>& reference = std::nullopt);

// What the goal minimises (Goal::cost), of one task's true cost; seconds of latency. Nullopt where
// a limit of the goal is broken: power above the cap, the energy of a sample (Goal::drawn_s), a
// minibatch that takes longer than its batch takes to arrive, a latency above its limit as
// Observation::answers_in_time has it.
std::optional<double> judged(const Goal& goal, Kind kind, std::int32_t batch_size,
                             const TrueCost& cost);

// Over every setting of the problem's knobs and batch sizes that has a cost. Ties go to the lower
// power, then to the earlier mode. Nullopt where none keeps the limits. The problem has one task.
// The goal is the problem's judging_goal.
std::optional<ExhaustiveOptimum> exhaustive_optimum(
    const SimulationProblem& problem, const std::optional<Setting>& reference = std::nullopt);

}  // namespace gearshift
