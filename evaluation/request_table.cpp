#include "evaluation/request_table.h"

#include <algorithm>
#include <cmath>

#include "evaluation/number_text.h"

namespace gearshift {
namespace {

// Of the rows of one policy that were held beside one pattern of arrivals.
struct RequestSum {
  std::size_t rows = 0;
  std::size_t in_time = 0;  // with enough minutes in time
  double share_in_time = 0;
  double late_share = 0;
  double delivered = 0;  // training, by what the formula says

  void add(const ConcurrentRow& row, const RequestOutcome& outcome) {
    ++rows;
    if (outcome.share_in_time >= kMinutesInTime) ++in_time;
    share_in_time += outcome.share_in_time;
    late_share += outcome.late_share;
    if (row.second.chosen > 0) delivered += outcome.trained_per_s / row.second.chosen;
  }
  double mean(double sum) const { return rows > 0 ? sum / static_cast<double>(rows) : 0; }
};

void add_line(const Grid& grid, std::span<const ConcurrentRow> rows, std::size_t policy,
              std::size_t pattern, bool trains, ComparisonTable& table) {
  RequestSum sum;
  std::string arrivals;
  for (const ConcurrentRow& row : rows) {
    if (row.of.policy != policy || pattern >= row.requests.size()) continue;
    if ((row.second.chosen > 0) != trains) continue;
    arrivals = row.requests[pattern].arrivals;
    sum.add(row, row.requests[pattern]);
  }
  if (sum.rows == 0) return;
  table.lines.push_back({grid.policies[policy].name, arrivals + (trains ? ", trains" : ", no room"),
                         std::to_string(sum.rows),
                         percent(sum.mean(static_cast<double>(sum.in_time))),
                         percent(sum.mean(sum.share_in_time)), percent(sum.mean(sum.late_share)),
                         trains ? percent(sum.mean(sum.delivered)) : "-"});
}

}  // namespace

ComparisonTable request_table(const Grid& grid, std::span<const ConcurrentRow> rows) {
  ComparisonTable table;
  table.title = "Held beside requests that come one by one, solved problems";
  table.columns = {"policy",    "arrivals", "problems",  "in time %",
                   "minutes %", "late %",   "training %"};
  std::size_t patterns = 0;
  for (const ConcurrentRow& row : rows) patterns = std::max(patterns, row.requests.size());
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    for (std::size_t pattern = 0; pattern < patterns; ++pattern) {
      add_line(grid, rows, policy, pattern, true, table);
      add_line(grid, rows, policy, pattern, false, table);
    }
  }
  return table;
}

nlohmann::ordered_json to_json(const RequestOutcome& outcome) {
  return {{"arrivals", outcome.arrivals},
          {"share_in_time", outcome.share_in_time},
          {"late_share", outcome.late_share},
          {"latency_p99_ms", std::isfinite(outcome.latency_p99_ms)
                                 ? nlohmann::ordered_json(outcome.latency_p99_ms)
                                 : nlohmann::ordered_json()},
          {"train_minibatches_per_s", outcome.trained_per_s}};
}

}  // namespace gearshift
