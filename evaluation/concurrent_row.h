// One search for training beside inference, judged against the exhaustive optimum.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluation/concurrent_table.h"
#include "evaluation/grid.h"
#include "evaluation/request_outcome.h"
#include "evaluation/statistics.h"
#include "evaluation/trial.h"

namespace gearshift {

// Of one way to count throughput.
struct ConcurrentFigure {
  double optimum = 0;
  double chosen = 0;  // of the setting held, whether it keeps the limits or not
  // 1 - chosen / optimum; 0 where the optimum is 0, or a suspect cell held is better than it.
  double loss = 0;
};

// The optimum where training and inference have clocks of their own.
struct SeparateFigure {
  double switch_ms = 0;                     // what a change of clocks takes
  std::optional<double> minibatches_per_s;  // of training; nullopt where nothing keeps the limits
};

struct ConcurrentRow {
  Case of;
  Trial trial;
  bool solvable = false;
  bool solved = false;            // solvable, and the setting held keeps every limit
  bool too_short = false;         // solvable, but no window has room for a training minibatch
  bool recognised = false;        // unsolvable, and the search ended as infeasible
  bool late = false;              // the setting held falls behind, or is over the latency limit
  double over_w = 0;              // its power above the limit
  std::optional<double> power_w;  // of the setting held
  const ConcurrentCell* best = nullptr;  // of most training a second; null where unsolvable
  ConcurrentFigure second;
  ConcurrentFigure window;
  std::vector<RequestOutcome> requests{};  // of solved rows, where they were asked for
  std::vector<SeparateFigure> separate{};  // where they were asked for
};

// `suspects_too`: all cells count, not only those trusted.
ConcurrentRow judge_concurrent(const Grid& grid, const ConcurrentTable& table, const Case& one,
                               const Trial& trial, bool suspects_too);

// What a policy came to on one pair of workloads, or on all of them together. Losses are of solved
// rows.
struct ConcurrentStanding {
  std::size_t policy = 0;
  std::optional<std::size_t> workload;  // nullopt: all
  std::size_t solvable = 0;
  std::size_t solved = 0;
  std::size_t gave_up = 0;  // solvable rows that ended as infeasible, solved or not
  std::size_t too_short = 0;
  std::size_t over_budget = 0;  // solvable rows that hold a setting over the power limit
  double most_over_w = 0;
  std::size_t late = 0;
  std::size_t unsolvable = 0;
  std::size_t recognised = 0;
  std::size_t failed = 0;           // rows where the script failed
  std::size_t failed_solvable = 0;  // of them, the solvable ones
  Distribution loss_second{};
  Distribution loss_window{};
  Distribution modes_profiled{};  // of solvable rows: distinct modes and inference batch sizes
  Distribution power_modes{};     // of them, distinct modes
  Distribution probes_over_cap{};
  Distribution search_s{};
};
// Policies in the order of the grid; for each its pairs, then, where there are several, all.
std::vector<ConcurrentStanding> summarise_concurrent(const Grid& grid,
                                                     std::span<const ConcurrentRow> rows);

}  // namespace gearshift
