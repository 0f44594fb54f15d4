// One row of results: a trial judged against the true cells of its workload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/grid.h"
#include "evaluation/trial.h"

namespace gearshift {

struct Row {
  Case of;
  Trial trial;
  bool solvable = false;  // some cell keeps every limit
  bool solved = false;    // solvable, and the setting held keeps every limit
  bool binding = false;   // solvable, and the power limit excludes the cell that is best without it
  bool recognised = false;   // unsolvable, and the search ended as infeasible
  bool late = false;         // the setting held falls behind, or is over the latency limit
  bool over_energy = false;  // the setting held is over the limit of a sample's energy
  // Of what the problem minimises, as OptimumTable::value has it.
  std::optional<double> optimum;  // nullopt where unsolvable
  std::optional<double> chosen;   // of the setting held; nullopt where it has no cell
  // chosen / optimum - 1, whether the limits are kept or not; 0 at least of a suspect cell.
  std::optional<double> excess;
  std::optional<double> power_w;  // of the setting held
  double over_w = 0;              // that power above the limit
};

Row judge(const Grid& grid, const Case& one, const Trial& trial);
// The setting held has a true cell, or none.
const ProfileCell* held_cell(const Grid& grid, const Row& row);

}  // namespace gearshift
