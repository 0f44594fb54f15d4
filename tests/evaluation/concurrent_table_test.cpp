#include "evaluation/concurrent_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evaluation/concurrent_report.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// Training takes 60, 30, 20, 30, 15, 10 ms; inference with batch 4 15, 7.5, 5, 7.5, 3.75, 2.5 ms,
// with batch 16 four times that; both draw 14, 18, 22, 18, 26, 34 W.
struct ConcurrentTest : testing::Test {
  Profile train = small_profile(Kind::train);
  Profile infer = small_profile(Kind::infer, {4, 16});
  ConcurrentTable table{train, infer, 16};

  const ConcurrentCell& cell(std::size_t which, std::int32_t batch) const {
    return *table.find(train.cells()[which].mode, batch);
  }
  Problem problem(std::int64_t cap_w, int latency_ms, double rate) const {
    return concurrent_problem(1000 * cap_w, milliseconds(latency_ms), rate);
  }
};

TEST_F(ConcurrentTest, CountsWholeMinibatchesInWhatInferenceLeaves) {
  const Problem one = problem(50, 1000, 50);  // batch 4 fills in 80 ms, 16 in 320 ms
  EXPECT_EQ(throughput(one, cell(0, 4), Throughput::window), 1);  // 65 ms for minibatches of 60
  EXPECT_EQ(throughput(one, cell(2, 4), Throughput::window), 3);  // 75 for 20
  EXPECT_DOUBLE_EQ(throughput(one, cell(2, 4), Throughput::second), 3 / 0.08);
  EXPECT_EQ(throughput(one, cell(2, 16), Throughput::window), 15);
  EXPECT_DOUBLE_EQ(throughput(one, cell(2, 16), Throughput::second), 15 / 0.32);
  EXPECT_EQ(throughput(problem(50, 1000, 400), cell(0, 4), Throughput::second), 0);
}

TEST_F(ConcurrentTest, CountsAllMinibatchesThatFitExactly) {
  const ProfileCell trained{
      .mode = {}, .batch_size = 16, .minibatch_ms = 0.1, .power_w = 10, .epoch_s = {}};
  const ProfileCell served{
      .mode = {}, .batch_size = 1, .minibatch_ms = 99.7, .power_w = 10, .epoch_s = {}};
  const Problem one = problem(50, 1000, 10);
  EXPECT_DOUBLE_EQ(throughput(one, {&trained, &served}, Throughput::second), 30);
  const ProfileCell longer{
      .mode = {}, .batch_size = 1, .minibatch_ms = 99.700001, .power_w = 10, .epoch_s = {}};
  EXPECT_DOUBLE_EQ(throughput(one, {&trained, &longer}, Throughput::second), 20);
}

TEST_F(ConcurrentTest, ThePowerIsTheHigherOneAndTheLimitsAreInferences) {
  train.add({train.cells()[0].mode, 32, 100, 40, {}});
  const ConcurrentTable other(train, infer, 32);
  ASSERT_EQ(other.cells().size(), 2U);  // one mode, two inference batch sizes
  EXPECT_EQ(other.cells()[0].power_w(), 40);
  EXPECT_FALSE(keeps(problem(39, 1000, 50), other.cells()[0]));
  EXPECT_TRUE(keeps(problem(40, 1000, 50), other.cells()[0]));
  EXPECT_TRUE(keeps(problem(50, 95, 50), cell(0, 4)));  // 80 + 15 ms
  EXPECT_FALSE(keeps(problem(50, 94, 50), cell(0, 4)));
  EXPECT_FALSE(keeps(problem(50, 1000, 300), cell(0, 4)));  // 15 ms of work every 13
}

// A training sample takes 20 ms and 22 W, or 60 and 14, over 16: 27.5 and 52.5 mJ.
TEST_F(ConcurrentTest, TheEnergyOfATrainingSampleIsALimitToo) {
  Problem one = problem(50, 1000, 50);
  one.goal.energy_j = 0.0276;
  EXPECT_TRUE(keeps(one, cell(2, 4)));
  EXPECT_FALSE(keeps(one, cell(0, 4)));
  one.goal.energy_j = 0.02;
  EXPECT_EQ(table.best(one, Throughput::second, false), nullptr);
}

TEST_F(ConcurrentTest, TheOptimumIsThatOfEveryCellLookedAt) {
  std::size_t solvable = 0;
  for (std::int64_t cap_w = 12; cap_w <= 36; cap_w += 2) {
    for (const int latency_ms : {60, 100, 400}) {
      for (const double rate : {20.0, 50.0, 150.0}) {
        const Problem one = problem(cap_w, latency_ms, rate);
        double most = -1, least_w = 0;
        for (std::size_t i = 0; i < 6; ++i) {
          for (const std::int32_t batch : {4, 16}) {
            const double t_train = train.cells()[i].minibatch_ms;
            const double t_infer = infer.find(train.cells()[i].mode, batch)->minibatch_ms;
            const double power_w = train.cells()[i].power_w;
            const double fill = 1e3 * batch / rate;
            if (power_w > static_cast<double>(cap_w) || t_infer > fill ||
                fill + t_infer > latency_ms) {
              continue;
            }
            const double value = std::floor((fill - t_infer) / t_train) * 1e3 / fill;
            if (value < most || (value == most && power_w >= least_w)) continue;
            most = value;
            least_w = power_w;
          }
        }
        const ConcurrentCell* best = table.best(one, Throughput::second, false);
        ASSERT_EQ(best != nullptr, most >= 0);
        if (best == nullptr) continue;
        ++solvable;
        EXPECT_DOUBLE_EQ(throughput(one, *best, Throughput::second), most);
        EXPECT_EQ(best->power_w(), least_w);
      }
    }
  }
  EXPECT_GT(solvable, 30U);
}

struct ConcurrentRowTest : ConcurrentTest {
  Grid grid = small_grid(infer);

  ConcurrentRow judged(const Problem& one, std::size_t which, std::int32_t batch,
                       bool suspects_too = false) {
    grid.problems = {one};
    Trial trial;
    trial.held.mode = train.cells()[which].mode;
    trial.held.batch_size = {16, batch};
    trial.modes_profiled = 4;
    trial.power_modes = 3;
    return judge_concurrent(grid, table, {}, trial, suspects_too);
  }
};

TEST_F(ConcurrentRowTest, HasTheLossOfBothWaysToCount) {
  const ConcurrentRow row = judged(problem(22, 400, 50), 1, 4);
  EXPECT_TRUE(row.solvable && row.solved);
  EXPECT_DOUBLE_EQ(row.second.chosen, 2 / 0.08);
  EXPECT_DOUBLE_EQ(row.second.optimum, 15 / 0.32);  // 22 W with batch 16
  EXPECT_DOUBLE_EQ(row.window.loss, 1 - 2.0 / 15);
  const ConcurrentRow over = judged(problem(22, 400, 50), 5, 4);
  EXPECT_FALSE(over.solved);
  EXPECT_DOUBLE_EQ(over.over_w, 12);
  EXPECT_TRUE(judged(problem(22, 90, 50), 0, 4).late);
}

TEST_F(ConcurrentRowTest, WhereNoWindowHasRoomAnySettingThatKeepsTheLimitsLosesNothing) {
  const Problem narrow = problem(14, 90, 60);  // only the slowest mode: 66.7 - 15 ms for 60
  const ConcurrentRow row = judged(narrow, 0, 4);
  EXPECT_TRUE(row.solved && row.too_short);
  EXPECT_EQ(row.second.loss, 0);
}

TEST_F(ConcurrentRowTest, ASuspectCellIsNoOptimumButTheFigureOverAllCellsHasIt) {
  table = ConcurrentTable(train, infer, 16, {false, false, true, false, false, false});
  const Problem one = problem(22, 400, 50);
  const ConcurrentRow row = judged(one, 2, 16);
  EXPECT_LT(row.second.optimum, row.second.chosen);
  EXPECT_EQ(row.second.loss, 0);
  EXPECT_GT(judged(one, 1, 16, true).second.loss, judged(one, 1, 16).second.loss);
}

TEST_F(ConcurrentRowTest, ReportsHaveEveryRowAndBothFigures) {
  ConcurrentResults results;
  for (const std::size_t which : {0U, 1U}) {
    results.rows.push_back(judged(problem(22, 400, 50), which, 16));
  }
  results.standings = summarise_concurrent(grid, results.rows);
  ASSERT_EQ(results.standings.size(), 2U);  // a policy without rows too
  EXPECT_EQ(results.standings[0].solved, 2U);
  EXPECT_DOUBLE_EQ(results.standings[0].power_modes.mean, 3);
  const std::string text = concurrent_text(grid, results, &results);
  EXPECT_NE(text.find("loss/window %"), std::string::npos);
  EXPECT_NE(text.find("the suspect ones too"), std::string::npos);
  const std::string csv = concurrent_csv(grid, results, &results);
  EXPECT_NE(csv.find(",minibatches_per_window.loss,"), std::string::npos);
  EXPECT_NE(csv.find("all_cells.minibatches_per_s.loss"), std::string::npos);
  EXPECT_NE(concurrent_json(grid, results, nullptr).find("\"minibatches_per_s\""),
            std::string::npos);
  EXPECT_NE(concurrent_html(grid, results, nullptr, {"c", "v", "d", "n"}).find("<svg"),
            std::string::npos);
}

}  // namespace
}  // namespace gearshift
