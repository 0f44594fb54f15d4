// The pictures of a report, drawn from its rows: one a workload.
#pragma once

#include <cstddef>
#include <span>

#include "evaluation/chart.h"
#include "evaluation/grid.h"
#include "evaluation/row.h"
#include "evaluation/statistics.h"

namespace gearshift {

// Just more than the widest step between two neighbouring power limits of the grid, W: a line that
// joins points no farther apart breaks where a limit has none. 0 where there are fewer than two.
double widest_step_w(const Grid& grid);

// Power against minibatch time of every cell, the fastest of each power and batch size as a line,
// and the settings that policies held.
Chart choices_chart(const Grid& grid, std::span<const Row> rows, std::size_t workload);
// The median excess over the optimum of what was solved, by power limit; what has none is left out.
Chart excess_chart(const Grid& grid, std::span<const Row> rows, std::size_t workload);
// The share of solvable problems that end with a setting that breaks a limit, by policy.
RangeChart violations_chart(const Grid& grid, std::span<const Standing> standings,
                            std::size_t workload);
// Distinct settings measured in a search, by policy: range, quartiles and median.
RangeChart modes_chart(const Grid& grid, std::span<const Standing> standings, std::size_t workload);

}  // namespace gearshift
