// What a search expects of a workload before it measured anything: what was measured of another
// one.
#pragma once

#include <cstddef>
#include <vector>

#include "boards/board_model.h"
#include "controller/policy.h"
#include "policies/numerics/cost_process.h"
#include "policies/numerics/setting_grid.h"

namespace gearshift {

// The cost model of the board that policies run on; where it is not known (null), that of a
// stand-in, whose range of clocks the board's is taken for.
CostCentre cost_centre(const PolicyContext& context, const BoardModel* board,
                       const SettingGrid& grid);

// Which rows of a table measured before count, ascending: of more than kMostPriorRows one out of
// each so many, drawn, since every so many-th could be those of one batch size. A million rows
// would take a script more time and memory than it has.
inline constexpr std::size_t kMostPriorRows = 32'768;
std::vector<std::size_t> prior_rows(std::size_t rows);

// Of how many of these rows the table tells a cost that says something of demands: those with a
// time and a power, not held down by a power limit. 0 where it was measured on another board whose
// model is not known.
std::size_t prior_cell_count(const Profile& profile, const BoardModel* board);

// From the first table of `context.prior` of the same kind that was measured on this board, or else
// on another one whose model is known, with kLeastFitCells by prior_cell_count: its demands, fitted
// to some of its cells, and on this board the misfit of each setting it has. Neutral demands where
// there is no such table. Takes about as long as fit_workload does for kPriorCells cells: 20 to 50
// ms.
inline constexpr std::size_t kPriorCells = 48;
CostPrior cost_prior(const PolicyContext& context, const BoardModel* board,
                     const SettingGrid& grid);

// The clocks that stand for knobs which the board lacks.
ModelMode highest_mode(const BoardModel* board);

}  // namespace gearshift
