// Order statistics and the summaries that compare policies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/row.h"

namespace gearshift {

// Of the values of a list. All zero where there is none.
struct Distribution {
  std::size_t count = 0;
  double least = 0;
  double first_quartile = 0;
  double median = 0;
  double third_quartile = 0;
  double mean = 0;
  double most = 0;
};
// Quartiles are interpolated between the two nearest values (method 7 of Hyndman and Fan 1996).
// Infinite values are as good as any other: between a finite and an infinite one lies infinity.
Distribution distribution(std::vector<double> values);

// The middle value, of an even count the mean of the two. Infinity where there is none.
double median(std::vector<double> values);

// What a policy came to over some solvable rows.
struct Score {
  std::size_t rows = 0;
  std::size_t solved = 0;
  Distribution excess;          // of the solved rows
  std::size_t over_budget = 0;  // rows whose held setting draws more than the limit
  Distribution over_w;          // of those rows
  std::size_t late = 0;         // rows whose held setting falls behind or is over the latency limit
  std::size_t over_energy = 0;  // rows whose held setting is over the limit of a sample's energy
  std::size_t broken = 0;       // rows that are any of over budget, late and over energy
  std::size_t gave_up = 0;      // rows that ended with no setting chosen
  std::size_t failed = 0;       // rows where the script failed
  Distribution modes_profiled;
  Distribution probes_over_cap;
  Distribution over_cap_j;
  Distribution search_s;
  Distribution search_kj;
};
Score score(std::span<const Row* const> rows);

// One policy on one workload, or on all of them together.
struct Standing {
  std::size_t policy = 0;
  std::optional<std::size_t> workload;  // nullopt: all
  Score solvable{};
  Score binding{};  // those solvable rows whose power limit excludes what is best without it
  std::size_t unsolvable = 0;  // rows; counted nowhere else
  std::size_t recognised = 0;  // of them, those that ended so
  // Settings tried in all rows that had no measured cell, by what became of them.
  std::size_t filled_nearest = 0;
  std::size_t filled_model = 0;
  std::size_t refused = 0;
};

// The other figure, where some cells are suspect: the same trials judged against all cells.
struct AllCells {
  std::span<const Row> rows;
  std::span<const Standing> standings;
};

// Policies in the order of the grid; for each its workloads, then, where there are several, all.
std::vector<Standing> summarise(const Grid& grid, std::span<const Row> rows);

}  // namespace gearshift
