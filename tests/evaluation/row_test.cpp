#include "evaluation/row.h"

#include <gtest/gtest.h>

#include <string>

#include "evaluation/number_text.h"
#include "evaluation/statistics.h"
#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// The trial that holds cell `which` of the profile.
Trial holding(const Profile& profile, std::size_t which) {
  Trial trial;
  trial.held = setting_of(profile.cells()[which], profile.kind);
  return trial;
}

struct RowTest : testing::Test {
  Profile profile = small_profile();  // 14, 18, 22, 18, 26, 34 W; 60, 30, 20, 30, 15, 10 ms
  Grid grid = small_grid(profile);

  Row judged(std::int64_t cap_w, const Trial& trial) {
    grid.problems = {train_problem(1000 * cap_w)};
    return judge(grid, {}, trial);
  }
};

TEST_F(RowTest, ComparesTheSettingHeldWithTheOptimum) {
  const Row row = judged(26, holding(profile, 2));
  EXPECT_TRUE(row.solvable && row.solved && row.binding);
  EXPECT_DOUBLE_EQ(*row.optimum, 15);
  EXPECT_DOUBLE_EQ(*row.chosen, 20);
  EXPECT_DOUBLE_EQ(*row.excess, 20.0 / 15 - 1);
  EXPECT_DOUBLE_EQ(*row.power_w, 22);
  EXPECT_EQ(row.over_w, 0);
  EXPECT_FALSE(judged(34, holding(profile, 2)).binding);
}

// A noisy reading keeps a run from the reference that it would take without noise.
TEST_F(RowTest, JudgesByTheReferenceThatTheRunTook) {
  grid.problems = {train_problem(40'000)};
  grid.problems[0].goal.objective = Objective::weighted;
  Trial trial = holding(profile, 2);
  trial.reference = setting_of(profile.cells()[2], Kind::train);
  const Row row = judge(grid, {}, trial);
  EXPECT_DOUBLE_EQ(*row.chosen, 1);
  // 15 ms at 26 W and 20 ms at 22 W
  EXPECT_DOUBLE_EQ(*row.optimum, 0.5 * 10 * 34 / (20 * 22) + 0.5 * 10 / 20);
}

TEST_F(RowTest, ASafeSettingThatKeepsTheLimitsSolvesAndIsCountedAsNoChoice) {
  Trial trial = holding(profile, 0);
  trial.infeasible = true;
  const Row row = judged(26, trial);
  EXPECT_TRUE(row.solved);
  EXPECT_FALSE(row.recognised);
  const Row* const rows[] = {&row};
  EXPECT_EQ(score(rows).solved, 1u);
  EXPECT_EQ(score(rows).gave_up, 1u);
}

TEST_F(RowTest, DoesNotCallAChoiceOverTheLimitSolved) {
  const Row row = judged(26, holding(profile, 5));
  EXPECT_TRUE(row.solvable);
  EXPECT_FALSE(row.solved);
  EXPECT_DOUBLE_EQ(row.over_w, 8);
  EXPECT_LT(*row.excess, 0);
}

TEST_F(RowTest, CountsUnsolvableProblemsApart) {
  Trial trial = holding(profile, 0);
  EXPECT_FALSE(judged(13, trial).recognised);
  trial.infeasible = true;
  const Row row = judged(13, trial);
  EXPECT_FALSE(row.solvable || row.solved);
  EXPECT_TRUE(row.recognised);
  EXPECT_FALSE(row.excess || row.optimum);
  EXPECT_FALSE(judged(14, trial).recognised);  // it is not infeasible
}

TEST_F(RowTest, RecognisesWhatIsUnsolvableWithoutACellOfTheLowestMode) {
  Profile holed(profile.knobs());
  for (std::size_t i = 1; i < profile.cells().size(); ++i) holed.add(profile.cells()[i]);
  grid = small_grid(holed);
  Trial trial = holding(holed, 0);
  trial.infeasible = true;
  EXPECT_TRUE(judged(13, trial).recognised);
}

TEST_F(RowTest, HasNoCostForASettingWithoutACell) {
  Trial trial = holding(profile, 0);
  trial.held.batch_size[index(Kind::train)] = 64;
  const Row row = judged(26, trial);
  EXPECT_TRUE(row.solvable);
  EXPECT_FALSE(row.solved || row.chosen || row.excess || row.power_w);
}

TEST_F(RowTest, CountsASuspectCellThatIsBetterAsNoExcess) {
  grid.workloads[0].optimum = OptimumTable(profile, {}, {false, false, false, false, true, false});
  const Row suspect = judged(26, holding(profile, 4));  // 15 ms; the best of the others takes 20
  EXPECT_TRUE(suspect.solved);
  EXPECT_DOUBLE_EQ(*suspect.optimum, 20);
  EXPECT_DOUBLE_EQ(*suspect.excess, 0);
  EXPECT_DOUBLE_EQ(*judged(26, holding(profile, 1)).excess, 0.5);
}

TEST_F(RowTest, JudgesInferenceByItsPace) {
  profile = small_profile(Kind::infer, {1, 4});
  grid = small_grid(profile);
  // Batch 4: 15, 7.5, 5, ... ms; at 100 a second it fills in 40 ms.
  grid.problems = {infer_problem(50'000, milliseconds(50), 100)};
  const Row late = judge(grid, {}, holding(profile, 6));  // 40 + 15 ms
  EXPECT_TRUE(late.late);
  EXPECT_FALSE(late.solved);
  const Row in_time = judge(grid, {}, holding(profile, 7));  // 40 + 7.5 ms
  EXPECT_TRUE(in_time.solved);
  EXPECT_DOUBLE_EQ(*in_time.chosen, 47.5);
  grid.problems = {infer_problem(50'000, milliseconds(500), 400)};
  EXPECT_TRUE(judge(grid, {}, holding(profile, 6)).late);  // 15 ms of work every 10 ms
}

TEST_F(RowTest, CountsALimitOfEnergyThatIsBroken) {
  grid.policies.resize(1);
  grid.seeds = {1};
  Problem problem = train_problem(50'000);
  const ProfileCell& cell = profile.cells()[4];
  problem.goal.energy_j = 1.01 * sample_s(cell) * cell.power_w;
  grid.problems = {problem};
  problem.goal.energy_j = 0.99 * sample_s(cell) * cell.power_w;
  grid.problems.push_back(problem);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    rows.push_back(judge(grid, grid.at(i), holding(profile, 4)));
  }
  EXPECT_FALSE(rows.front().over_energy);
  EXPECT_TRUE(rows.back().over_energy);
  EXPECT_FALSE(rows.back().solved || rows.back().late);
  const Score score = summarise(grid, rows).front().solvable;
  EXPECT_EQ(score.over_energy, 1u);
  EXPECT_EQ(score.broken, 1u);
}

TEST(Distribution, InterpolatesQuartiles) {
  const Distribution of = distribution({4, 1, 3, 2});
  EXPECT_EQ(of.count, 4u);
  EXPECT_DOUBLE_EQ(of.first_quartile, 1.75);
  EXPECT_DOUBLE_EQ(of.median, 2.5);
  EXPECT_DOUBLE_EQ(of.third_quartile, 3.25);
  EXPECT_DOUBLE_EQ(of.mean, 2.5);
  EXPECT_DOUBLE_EQ(of.least, 1);
  EXPECT_DOUBLE_EQ(of.most, 4);
  EXPECT_DOUBLE_EQ(distribution({7}).third_quartile, 7);
  EXPECT_EQ(distribution({}).count, 0u);
}

TEST(Distribution, TakesAnInfiniteValueAsAnyOther) {
  const Distribution of = distribution({kNever, 1, 2});
  EXPECT_EQ(of.median, 2);
  EXPECT_EQ(of.third_quartile, kNever);
  EXPECT_EQ(distribution({kNever, kNever, kNever, 1}).median, kNever);
}

// A product of 1e3 and 16.1 is more than 16,100.
TEST(KeepsPower, ExactlyTheCapIsWithinIt) {
  for (std::int64_t mw = 1; mw <= 100'000; ++mw) {
    Problem problem;
    problem.goal.power_mw = mw;
    ProfileCell cell;
    cell.power_w = std::stod(std::to_string(mw) + "e-3");
    ASSERT_TRUE(keeps_power(problem, cell)) << mw << " mW";
    cell.power_w = std::stod(std::to_string(mw) + "0001e-7");
    ASSERT_FALSE(keeps_power(problem, cell)) << mw << " mW and a ten-thousandth";
  }
}

TEST_F(RowTest, SummarisesSolvableBindingAndUnsolvableRowsApart) {
  grid.policies.resize(1);
  grid.seeds = {1};
  grid.problems.clear();
  for (const std::int64_t cap_w : {13, 20, 26, 40}) {
    grid.problems.push_back(train_problem(1000 * cap_w));
  }
  std::vector<Row> rows;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    Trial trial = holding(profile, 4);  // 26 W, 15 ms
    trial.modes_profiled = static_cast<std::uint32_t>(10 * i);
    rows.push_back(judge(grid, grid.at(i), trial));
  }
  const auto standings = summarise(grid, rows);
  ASSERT_EQ(standings.size(), 1u);
  const Standing& one = standings.front();
  EXPECT_EQ(one.unsolvable, 1u);
  EXPECT_EQ(one.recognised, 0u);
  EXPECT_EQ(one.solvable.rows, 3u);
  EXPECT_EQ(one.solvable.solved, 2u);
  EXPECT_EQ(one.solvable.over_budget, 1u);
  EXPECT_EQ(one.solvable.broken, 1u);
  EXPECT_DOUBLE_EQ(one.solvable.over_w.most, 6);
  EXPECT_DOUBLE_EQ(one.solvable.excess.median, 0.25);
  EXPECT_DOUBLE_EQ(one.solvable.modes_profiled.mean, 20);
  EXPECT_EQ(one.binding.rows, 2u);
  EXPECT_EQ(one.binding.solved, 1u);
  EXPECT_DOUBLE_EQ(one.binding.excess.most, 0);
}

}  // namespace
}  // namespace gearshift
