#include "evaluation/separate_clocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "evaluation/concurrent_report.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// Training takes 60, 30, 20, 30, 15, 10 ms at 14, 18, 22, 18, 26, 34 W, the first three with four
// cores; inference with batch 4 15, 7.5, 5, 7.5, 3.75, 2.5 ms, with 16 four times that, 10 W more.
struct SeparateClocksTest : testing::Test {
  static Profile warm_profile() {
    const Profile cool = small_profile(Kind::infer, {4, 16});
    Profile warm(cool.knobs());
    for (ProfileCell cell : cool.cells()) {
      cell.power_w += 10;
      warm.add(cell);
    }
    return warm;
  }
  Problem problem(std::int64_t cap_w, int latency_ms, double rate) const {
    return concurrent_problem(1000 * cap_w, milliseconds(latency_ms), rate);
  }

  Profile train = small_profile(Kind::train);
  Profile infer = warm_profile();
  ConcurrentTable table{train, infer, 16};
  SeparateClocks clocks{train.knobs(), table};
};

TEST_F(SeparateClocksTest, EachPhaseTakesItsFastestClocksOnTheSameCores) {
  const Problem one = problem(26, 100, 50);  // batch 4 fills in 80 ms, 16 are late
  const ConcurrentCell* shared = table.best(one, Throughput::second, false);
  ASSERT_NE(shared, nullptr);
  EXPECT_DOUBLE_EQ(throughput(one, *shared, Throughput::second), 1 / 0.08);
  // Inference fits with four cores and the lowest clock alone; training there takes 20 ms at 22 W,
  // and would take 15 with eight cores.
  EXPECT_DOUBLE_EQ(clocks.best(one, 0.001).value(), 3 / 0.08);
  EXPECT_DOUBLE_EQ(clocks.best(one, 5).value(), 2 / 0.08) << "80 - 15 - 2 x 5";
  EXPECT_EQ(clocks.best(one, 5.001), std::nullopt) << "80 + 5 + 15 ms are just in time";
  EXPECT_EQ(clocks.best(problem(23, 100, 50), 0.001), std::nullopt) << "inference draws 24 W";
}

TEST_F(SeparateClocksTest, TheEnergyOfATrainingSampleIsALimitToo) {
  Problem one = problem(26, 100, 50);
  one.goal.energy_j = 0.0276;  // 20 ms at 22 W, over 16, are 27.5 mJ; no slower clock takes less
  EXPECT_DOUBLE_EQ(clocks.best(one, 0.001).value(), 3 / 0.08);
  one.goal.energy_j = 0.0274;
  EXPECT_EQ(clocks.best(one, 0.001), std::nullopt);
}

TEST_F(SeparateClocksTest, TheOptimumIsThatOfEveryPairOfClocksLookedAt) {
  std::size_t solvable = 0;
  for (std::int64_t cap_w = 22; cap_w <= 46; cap_w += 4) {
    for (const int latency_ms : {60, 100, 400}) {
      for (const double rate : {20.0, 50.0, 150.0}) {
        for (const double switch_ms : {0.5, 3.0, 20.0}) {
          const Problem one = problem(cap_w, latency_ms, rate);
          double most = -1;
          for (const ProfileCell& trained : train.cells()) {
            for (const ProfileCell& served : infer.cells()) {
              const double fill_ms = 1e3 * served.batch_size / rate;
              const double left_ms = fill_ms - served.minibatch_ms - 2 * switch_ms;
              const bool late = fill_ms + switch_ms + served.minibatch_ms > latency_ms;
              const bool over = 1e3 * std::max(trained.power_w, served.power_w) >
                                static_cast<double>(1000 * cap_w);
              if (trained.mode.values[0] != served.mode.values[0] || late || over || left_ms < 0)
                continue;
              most = std::max(most, std::floor(left_ms / trained.minibatch_ms) * 1e3 / fill_ms);
            }
          }
          EXPECT_DOUBLE_EQ(clocks.best(one, switch_ms).value_or(-1), most);
          solvable += most >= 0;
        }
      }
    }
  }
  EXPECT_GT(solvable, 30U);
}

TEST_F(SeparateClocksTest, ATableSaysWhatItGains) {
  Grid grid;
  grid.policies = {{"first", "return nil", "first.lua"}};
  grid.workloads.push_back({"lenet + lenet", OptimumTable(infer)});
  grid.problems = {problem(26, 100, 50), problem(46, 100, 50)};
  grid.seeds = {1};
  ConcurrentResults results;
  for (std::size_t i = 0; i < 2; ++i) {
    results.rows.push_back(judge_concurrent(grid, table, grid.at(i), {}, false));
  }
  results.standings = summarise_concurrent(grid, results.rows);
  EXPECT_TRUE(separate_table(grid, results.rows).lines.empty()) << "nobody asked";
  EXPECT_NE(concurrent_json(grid, results, nullptr).find("\"separate_clocks\": []"),
            std::string::npos);
  for (ConcurrentRow& row : results.rows) {
    for (const double ms : {0.001, 5.0}) {
      row.separate.push_back({ms, clocks.best(grid.problems[row.of.problem], ms)});
    }
  }
  // 1 and 7 minibatches in 80 ms become 3 and 7, or 2 and 6.
  const ComparisonTable told = separate_table(grid, results.rows);
  ASSERT_EQ(told.lines.size(), 2U);
  EXPECT_EQ(told.lines[0], (std::vector<std::string>{"lenet + lenet", "0.001 ms", "2", "100", "1",
                                                     "0", "0", "100"}));
  EXPECT_EQ(told.lines[1], (std::vector<std::string>{"lenet + lenet", "5 ms", "2", "42.9", "1", "1",
                                                     "0", "50.0"}));
  EXPECT_NE(concurrent_text(grid, results, nullptr).find("if it gains %"), std::string::npos);
  EXPECT_NE(concurrent_json(grid, results, nullptr).find("\"switch_ms\": 5.0"), std::string::npos);
}

}  // namespace
}  // namespace gearshift
