#include "evaluation/request_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace gearshift {
namespace {

ConcurrentRow row_of(double formula_per_s, double share_in_time, double trained_per_s) {
  ConcurrentRow row;
  row.second.chosen = formula_per_s;
  row.requests = {{.arrivals = "poisson",
                   .share_in_time = share_in_time,
                   .late_share = 0.01,
                   .latency_p99_ms = 400,
                   .trained_per_s = trained_per_s}};
  return row;
}

TEST(RequestTable, CountsChoicesWithEnoughMinutesInTimeApartFromThoseWithNoRoom) {
  Grid grid;
  grid.policies.resize(1);
  grid.policies[0].name = "bayes";
  ConcurrentRow unsolved;
  const std::vector<ConcurrentRow> rows = {row_of(10, 1, 11), row_of(10, 0.99, 9),
                                           row_of(10, 0.98, 10), row_of(0, 0.5, 1), unsolved};
  const ComparisonTable table = request_table(grid, rows);
  ASSERT_EQ(table.lines.size(), 2U);
  EXPECT_EQ(table.lines[0][1], "poisson, trains");
  EXPECT_EQ(table.lines[0][2], "3");
  EXPECT_EQ(table.lines[0][3].substr(0, 4), "66.7");
  EXPECT_EQ(table.lines[0][6].substr(0, 3), "100");
  EXPECT_EQ(table.lines[1][1], "poisson, no room");
  EXPECT_EQ(table.lines[1][3].substr(0, 1), "0");
  EXPECT_EQ(table.lines[1][6], "-");
}

TEST(RequestTable, HasNoLinesWhereNobodyAsked) {
  Grid grid;
  grid.policies.resize(1);
  EXPECT_TRUE(request_table(grid, std::vector<ConcurrentRow>(3)).lines.empty());
}

TEST(RequestTable, SaysNullOfALatencyThatIsInfinite) {
  RequestOutcome outcome = row_of(1, 1, 1).requests.front();
  EXPECT_EQ(to_json(outcome)["latency_p99_ms"], 400);
  outcome.latency_p99_ms = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(to_json(outcome)["latency_p99_ms"].is_null());
}

}  // namespace
}  // namespace gearshift
