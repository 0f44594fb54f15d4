#include "evaluation/optimum_table.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/evaluation/fake_grid.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

// By definition, cell by cell: shares no line with the table.
double brute_force_ms(const Profile& profile, const Problem& problem) {
  double least = 1e300;
  for (const ProfileCell& cell : profile.cells()) {
    if (cell.power_w > static_cast<double>(*problem.goal.power_mw) / 1000.0) continue;
    double value = cell.minibatch_ms;
    if (problem.kind == Kind::infer) {
      const double latency_limit_ms = static_cast<double>(problem.goal.latency->count()) / 1e6;
      const double filling_ms = 1000.0 * cell.batch_size / problem.goal.arrivals_per_s;
      if (cell.minibatch_ms > filling_ms) continue;
      if (filling_ms + cell.minibatch_ms > latency_limit_ms) continue;
      value = filling_ms + cell.minibatch_ms;
    }
    if (value < least) least = value;
  }
  return least;
}

// A profile without any order in it.
Profile disordered_profile(std::uint64_t seed) {
  const Profile ordered = small_profile(Kind::infer, {1, 4, 16});
  Profile profile(ordered.knobs());
  profile.kind = Kind::infer;
  std::mt19937_64 random(seed);
  for (ProfileCell cell : ordered.cells()) {
    cell.minibatch_ms = 1 + static_cast<double>(random() % 100);
    cell.power_w = 10 + static_cast<double>(random() % 20);
    profile.add(cell);
  }
  return profile;
}

TEST(OptimumTable, TakesNoSuspectCellForAnOptimum) {
  const Profile profile = small_profile();  // 14, 18, 22, 18, 26, 34 W; 60, 30, 20, 30, 15, 10 ms
  const OptimumTable table(profile, {}, {false, false, false, false, true, false});
  EXPECT_TRUE(table.trusts(profile.cells()[0]));
  EXPECT_FALSE(table.trusts(profile.cells()[4]));
  EXPECT_DOUBLE_EQ(table.best(train_problem(26'000))->value, 20);
  Problem energy = train_problem(26'000);
  energy.goal.objective = Objective::energy;
  EXPECT_EQ(table.best(energy)->cell, &profile.cells()[2]);
  EXPECT_EQ(OptimumTable(profile).best(energy)->cell, &profile.cells()[4]);
}

TEST(OptimumTable, AgreesWithBruteForceWhateverTheCellsAre) {
  std::size_t solvable = 0;
  std::size_t unsolvable = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Profile profile = disordered_profile(seed);
    const OptimumTable table(profile);
    for (std::int64_t cap_w = 9; cap_w <= 31; cap_w += 2) {
      for (const int latency_ms : {20, 60, 200, 1000}) {
        for (const double rate : {5.0, 30.0, 80.0}) {
          const Problem problem = infer_problem(1000 * cap_w, milliseconds(latency_ms), rate);
          const double expected = brute_force_ms(profile, problem);
          const auto best = table.best(problem);
          ASSERT_EQ(best.has_value(), expected < 1e300);
          ++(best ? solvable : unsolvable);
          if (best) {
            EXPECT_DOUBLE_EQ(best->value, expected);
            EXPECT_TRUE(keeps_power(problem, *best->cell) && keeps_pace(problem, *best->cell));
          }
        }
      }
    }
  }
  EXPECT_GT(solvable, 100u);
  EXPECT_GT(unsolvable, 100u);
}

TEST(OptimumTable, TakesACellThatDrawsExactlyTheLimit) {
  const Profile profile = small_profile();
  const OptimumTable table(profile);
  EXPECT_DOUBLE_EQ(table.best(train_problem(26'000))->value, 15);  // 8 cores, 624.75 MHz
  EXPECT_DOUBLE_EQ(table.best(train_problem(25'999))->value, 20);
  EXPECT_FALSE(table.best(train_problem(13'999)));
}

TEST(OptimumTable, BreaksTiesByTheLowerPower) {
  Profile profile(small_profile().knobs());
  profile.add({.mode = {{4, 306'000}, 2},
               .batch_size = 16,
               .minibatch_ms = 9,
               .power_w = 20,
               .epoch_s = {}});
  profile.add({.mode = {{8, 306'000}, 2},
               .batch_size = 16,
               .minibatch_ms = 9,
               .power_w = 12,
               .epoch_s = {}});
  EXPECT_EQ(OptimumTable(profile).best(train_problem(30'000))->cell->power_w, 12);
}

TEST(OptimumTable, ComparesBatchSizesByTheTimeOfAsManySamples) {
  Profile profile(small_profile().knobs());
  profile.add({.mode = {{4, 306'000}, 2},
               .batch_size = 16,
               .minibatch_ms = 10,
               .power_w = 20,
               .epoch_s = {}});
  profile.add({.mode = {{4, 306'000}, 2},
               .batch_size = 32,
               .minibatch_ms = 16,
               .power_w = 20,
               .epoch_s = {}});
  const auto best = OptimumTable(profile).best(train_problem(30'000));
  EXPECT_EQ(best->cell->batch_size, 32);
  EXPECT_DOUBLE_EQ(best->value, 8);
}

TEST(OptimumTable, BindsWhereTheFastestModeIsExcluded) {
  const Profile profile = small_profile();
  const OptimumTable table(profile);
  EXPECT_TRUE(table.binds(train_problem(33'999)));
  EXPECT_FALSE(table.binds(train_problem(34'000)));
}

// Cells by two modes and batches of 1 and 2: the higher mode is faster and dearer.
Profile two_modes() {
  KnobSpace space;
  space.knobs.push_back({"gpu_mhz", Unit::khz, KnobClass::clock, {100, 200}});
  Profile profile(space);
  PowerMode low, high;
  low.count = high.count = 1;
  low.values[0] = 100;
  high.values[0] = 200;
  profile.add({low, 1, 2000, 10, {}});   // 2 s, 20 J
  profile.add({high, 1, 1000, 40, {}});  // 1 s, 40 J
  profile.add({low, 2, 3000, 12, {}});   // 1.5 s, 18 J a sample
  profile.add({high, 2, 1600, 44, {}});  // 0.8 s, 35.2 J a sample
  return profile;
}

TEST(OptimumTable, KnowsTheBestCellOfEnergyAndOfWeights) {
  const Profile profile = two_modes();
  PowerMode low = profile.cells()[0].mode;
  PowerMode high = profile.cells()[1].mode;
  const OptimumTable table(profile, {low, high});
  Problem problem{.goal = {.objective = Objective::energy}};
  EXPECT_DOUBLE_EQ(table.best(problem)->value, 18);
  problem.goal = {.objective = Objective::weighted, .energy_weight = 0};
  EXPECT_DOUBLE_EQ(table.best(problem)->value, 0.8);
  problem.goal.energy_weight = 1;
  EXPECT_DOUBLE_EQ(table.best(problem)->value, 18.0 / 40);
  problem.goal.energy_weight = 0.5;
  EXPECT_DOUBLE_EQ(table.best(problem)->value, 0.5 * 35.2 / 40 + 0.5 * 0.8);
  // Where the cap forbids the highest mode, the one below it is what costs 1.
  problem.goal.power_mw = 20'000;
  EXPECT_DOUBLE_EQ(table.judging_goal(problem).reference_s, 2);
  EXPECT_DOUBLE_EQ(table.best(problem)->value, 0.5 * 18 / 20 + 0.5 * 1.5 / 2);
}

TEST(OptimumTable, MeasuresAWeightedGoalAgainstWhatTheRunTook) {
  const Profile profile = two_modes();
  const OptimumTable table(profile, {profile.cells()[0].mode, profile.cells()[1].mode});
  const Problem problem{.goal = {.objective = Objective::weighted, .energy_weight = 0.5}};
  const Setting low = setting_of(profile.cells()[2], Kind::train);  // 1.5 s, 18 J a sample
  EXPECT_DOUBLE_EQ(table.judging_goal(problem, low).reference_s, 1.5);
  EXPECT_DOUBLE_EQ(table.judging_goal(problem, low).reference_j, 18);
  EXPECT_DOUBLE_EQ(table.best(problem, low)->value, 1)
      << "0.5 * 35.2 / 18 + 0.5 * 0.8 / 1.5 is more";
  EXPECT_FALSE(table.judging_goal(problem, Setting{}).has_reference()) << "it has no cell";
}

TEST(OptimumTable, KeepsALimitOfEnergyAtTheLimitAndNotPastIt) {
  const Profile profile = two_modes();
  const OptimumTable table(profile);
  Problem problem{.goal = {.objective = Objective::time, .energy_j = 36}};
  EXPECT_EQ(table.best(problem)->cell->power_w, 44);
  problem.goal.energy_j = 35;
  EXPECT_EQ(table.best(problem)->cell->power_w, 12) << "the fastest within the energy";
  problem.goal.energy_j = 18;
  EXPECT_TRUE(table.best(problem));
  problem.goal.energy_j = 17.9;
  EXPECT_FALSE(table.best(problem));
}

}  // namespace
}  // namespace gearshift
