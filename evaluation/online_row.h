// What a policy that keeps on learning came to: how soon it found a good setting, and how much
// dearer than the optimum its measurements were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/grid.h"
#include "evaluation/trial.h"

namespace gearshift {

// A cost so near to the optimum counts as found.
inline constexpr double kNear = 0.03;
// A policy has settled when no mean of so many measurements in a row is farther from it.
inline constexpr std::size_t kSettledWindow = 20;
// The regret of a policy that has learnt is that of the measurements behind so many.
inline constexpr std::size_t kLearning = 100;

// The weighted goal with the cost of the profile's highest setting as its reference: the highest
// value of every knob, and the largest batch size. Throws std::runtime_error that names the profile
// where that has no cell.
Goal with_reference(Goal goal, const Profile& profile);

// What the goal minimises, in that cell; infinity where it was not timed.
double cost_of(const Goal& goal, const ProfileCell& cell);

// Of the trusted cells that keep the limits of power and energy the one of least cost, the earliest
// where several tie; null where there is none.
const ProfileCell* best_online_cell(const Goal& goal, const OptimumTable& table);

// Regret is the true cost of what was measured over the optimum's, less 1. It is never negative: a
// setting over a limit that costs less than the optimum counts 0, and is never near.
struct OnlineRow {
  Case of;
  Trial trial;
  const ProfileCell* optimum =
      nullptr;  // null: nothing keeps the limits, and nothing else is known
  double optimum_cost = 0;
  std::optional<std::uint32_t> reached;  // the first measurement, from 1, of a near setting
  std::optional<std::uint32_t> settled;  // the first from which on all windows are near
  std::optional<double> late_regret;     // mean of those behind kLearning; nullopt: there are none
  double cumulative_regret = 0;          // sum of all
  std::uint32_t over_cap = 0;            // measurements of settings over the limit
  std::vector<double> regret;            // of each
};

// `measurements` of them: those of the trial, and then as many of what it held.
OnlineRow judge_online(const Grid& grid, const Case& one, const Trial& trial,
                       std::size_t measurements);

}  // namespace gearshift
