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
            EXPECT_DOUBLE_EQ(best->value_ms, expected);
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
  EXPECT_DOUBLE_EQ(table.best(train_problem(26'000))->value_ms, 15);  // 8 cores, 624.75 MHz
  EXPECT_DOUBLE_EQ(table.best(train_problem(25'999))->value_ms, 20);
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
  EXPECT_DOUBLE_EQ(best->value_ms, 8);
}

TEST(OptimumTable, BindsWhereTheFastestModeIsExcluded) {
  const Profile profile = small_profile();
  const OptimumTable table(profile);
  EXPECT_TRUE(table.binds(train_problem(33'999)));
  EXPECT_FALSE(table.binds(train_problem(34'000)));
}

}  // namespace
}  // namespace gearshift
