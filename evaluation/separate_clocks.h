// What training beside inference could come to if each had clocks of its own: the exhaustive
// optimum, by what a change of clocks takes, beside the best power mode that both share.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "evaluation/comparison.h"
#include "evaluation/concurrent_row.h"
#include "evaluation/concurrent_table.h"

namespace gearshift {

// Cores and the memory clock are shared: cores take 10 to 100 ms each. Power is that of either
// phase, which the limit holds for each.
class SeparateClocks {
 public:
  // Borrows the table, whose cells are on `knobs`.
  SeparateClocks(const KnobSpace& knobs, const ConcurrentTable& table);

  // The most whole training minibatches a second between two batches of requests, where the clocks
  // change before and after each and work waits for `switch_ms` each time. Nullopt where no clocks
  // keep the limits. Trusted cells only.
  std::optional<double> best(const Problem& problem, double switch_ms) const;

 private:
  std::vector<std::vector<const ConcurrentCell*>> shared_;  // cells that differ in clocks alone
};

// A line for each pair and each time that a change takes, of rows of one policy and seed: the mean
// gain over the best shared mode where that trains, how often it is more and less, how many
// problems are solvable only so, and the gain where each problem takes the better of both. No lines
// where no row has such figures.
ComparisonTable separate_table(const Grid& grid, std::span<const ConcurrentRow> rows);

nlohmann::ordered_json to_json(const SeparateFigure& figure);

}  // namespace gearshift
