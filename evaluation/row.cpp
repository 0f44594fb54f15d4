#include "evaluation/row.h"

#include <algorithm>

namespace gearshift {

const ProfileCell* held_cell(const Grid& grid, const Row& row) {
  const Profile& profile = grid.workloads[row.of.workload].optimum.profile();
  const Kind kind = grid.problems[row.of.problem].kind;
  return profile.find(row.trial.held.mode, row.trial.held.batch_size[index(kind)]);
}

Row judge(const Grid& grid, const Case& one, const Trial& trial) {
  const OptimumTable& table = grid.workloads[one.workload].optimum;
  const Problem& problem = grid.problems[one.problem];
  Row row;
  row.of = one;
  row.trial = trial;
  const std::optional<BestCell> best = table.best(problem, trial.reference);
  row.solvable = best.has_value();
  if (best) row.optimum = best->value;
  row.binding = row.solvable && table.binds(problem, trial.reference);
  row.recognised = !row.solvable && trial.infeasible;
  const Goal goal = table.judging_goal(problem, trial.reference);
  const ProfileCell* cell = held_cell(grid, row);
  if (cell == nullptr) return row;
  row.chosen = table.value(problem.kind, goal, *cell);
  row.power_w = cell->power_w;
  if (problem.goal.power_mw) {
    row.over_w = std::max(0.0, cell->power_w - static_cast<double>(*problem.goal.power_mw) / 1e3);
  }
  row.late = !keeps_pace(problem, *cell);
  row.over_energy = !keeps_energy(problem, *cell);
  row.solved = row.solvable && keeps_power(problem, *cell) && !row.over_energy && !row.late;
  if (best) row.excess = *row.chosen / best->value - 1;
  if (best && row.solved && !table.trusts(*cell)) row.excess = std::max(0.0, *row.excess);
  return row;
}

}  // namespace gearshift
