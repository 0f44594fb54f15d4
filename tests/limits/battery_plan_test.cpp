#include "limits/battery_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace gearshift {
namespace {

const std::vector<WorkPoint> kPoints = {{10, 100}, {20, 300}, {30, 390}, {40, 420}, {25, 200}};

TEST(PowerHull, KeepsWhatNoMixtureOfOthersBeats) {
  const PowerHull hull(kPoints);
  const std::vector<WorkPoint> expected = {{10, 100}, {20, 300}, {30, 390}, {40, 420}};
  EXPECT_EQ(std::vector<WorkPoint>(hull.vertices().begin(), hull.vertices().end()), expected);
  EXPECT_DOUBLE_EQ(hull.samples_per_s(15), 200);
  EXPECT_DOUBLE_EQ(hull.samples_per_s(5), 100);
  EXPECT_DOUBLE_EQ(hull.samples_per_s(99), 420);
  EXPECT_DOUBLE_EQ(hull.power_w(345).value(), 25);
  EXPECT_FALSE(hull.power_w(421));
}

TEST(PowerHull, LeavesOutWhatIsBelowALineOrNoNumber) {
  const double infinite = std::numeric_limits<double>::infinity();
  const PowerHull hull(std::vector<WorkPoint>{
      {10, 100}, {15, 110}, {20, 300}, {infinite, 500}, {-1, 900}, {30, infinite}, {20, 250}});
  const std::vector<WorkPoint> expected = {{10, 100}, {20, 300}};
  EXPECT_EQ(std::vector<WorkPoint>(hull.vertices().begin(), hull.vertices().end()), expected);
}

TEST(PowerHull, IsMostEfficientByAllThatIsDrawn) {
  const PowerHull hull(kPoints);
  EXPECT_EQ(hull.vertices()[hull.most_efficient(0)].power_w, 20);
  EXPECT_EQ(hull.vertices()[hull.most_efficient(200)].power_w, 40);
}

TEST(PowerHull, EndsWhereNothingMayDrawMore) {
  const PowerHull hull(kPoints);
  for (const double power_w : {12.0, 20.0, 25.0, 1000.0}) {
    const PowerHull cut = hull.up_to(power_w);
    const double end_w = std::min(power_w, hull.vertices().back().power_w);
    EXPECT_DOUBLE_EQ(cut.vertices().back().power_w, end_w);
    for (const double at_w : {10.0, 11.0, end_w}) {
      EXPECT_DOUBLE_EQ(cut.samples_per_s(at_w), hull.samples_per_s(at_w)) << power_w;
    }
    EXPECT_FALSE(cut.power_w(hull.samples_per_s(end_w) + 1)) << power_w;
  }
  ASSERT_EQ(hull.up_to(1).vertices().size(), 1U);
  EXPECT_EQ(hull.up_to(1).vertices()[0], hull.vertices()[0]);
  EXPECT_TRUE(PowerHull().up_to(10).empty());
}

TEST(BatteryPlan, FinishesAsSoonAsTheEnergyAllows) {
  // 39,000 samples: 100 s at 30 W, 130 s at 20 W. 2,800 J lie between 2,600 J and 3,000 J.
  const BatteryPlan plan = plan_battery(
      PowerHull(kPoints), {.aim = BatteryAim::finish, .energy_j = 2800, .samples = 39000});
  EXPECT_EQ(plan.shortfall, Shortfall::none);
  EXPECT_EQ(plan.low.power_w, 20);
  EXPECT_EQ(plan.high.power_w, 30);
  EXPECT_NEAR(plan.energy_j, 2800, 1e-6);
  EXPECT_NEAR(plan.samples, 39000, 1e-6);
  EXPECT_GT(plan.time_s, 100);
  EXPECT_LT(plan.time_s, 130);
}

TEST(BatteryPlan, CountsWhatOthersDrawAllTheWhile) {
  // The same with 5 W beside it: 3,250 J at 20 W, 3,500 J at 30 W.
  const BatteryPlan plan =
      plan_battery(PowerHull(kPoints),
                   {.aim = BatteryAim::finish, .energy_j = 3400, .other_w = 5, .samples = 39000});
  EXPECT_EQ(plan.low.power_w, 20);
  EXPECT_GT(plan.high_share, 0);
  EXPECT_NEAR(plan.energy_j, 3400, 1e-6);
  EXPECT_NEAR(plan.samples, 39000, 1e-6);
}

TEST(BatteryPlan, TakesTheFastestWhereEnergyAbounds) {
  const BatteryPlan plan = plan_battery(
      PowerHull(kPoints), {.aim = BatteryAim::finish, .energy_j = 1e6, .samples = 42000});
  EXPECT_NEAR(plan.time_s, 100, 1e-9);
  EXPECT_NEAR(plan.mean_power_w, 40, 1e-9);
}

TEST(BatteryPlan, DoesTheMostThatTooLittleEnergyAllows) {
  const BatteryPlan plan = plan_battery(
      PowerHull(kPoints), {.aim = BatteryAim::finish, .energy_j = 2000, .samples = 39000});
  EXPECT_EQ(plan.shortfall, Shortfall::energy);
  EXPECT_DOUBLE_EQ(plan.mean_power_w, 20);
  EXPECT_DOUBLE_EQ(plan.samples, 30000);
}

TEST(BatteryPlan, SaysThatADeadlineCannotBeMet) {
  const BatteryPlan plan =
      plan_battery(PowerHull(kPoints),
                   {.aim = BatteryAim::finish, .energy_j = 2600, .samples = 39000, .time_s = 110});
  EXPECT_EQ(plan.shortfall, Shortfall::time);
  EXPECT_NEAR(plan.time_s, 130, 1e-6);
}

TEST(BatteryPlan, SpendsNoMoreThanADeadlineNeeds) {
  const BatteryPlan plan = plan_battery(
      PowerHull(kPoints),
      {.aim = BatteryAim::least_energy, .energy_j = 1e6, .samples = 34500, .time_s = 100});
  EXPECT_EQ(plan.shortfall, Shortfall::none);
  EXPECT_NEAR(plan.mean_power_w, 25, 1e-9);
  EXPECT_NEAR(plan.high_share, 0.5, 1e-9);
}

TEST(BatteryPlan, SpendsNoMoreForADeadlineThatIsLater) {
  // 3,000 samples: 10 s and 200 J at 20 W, where a joule does most; 30 s and 300 J at 10 W.
  BatteryTask task{.aim = BatteryAim::least_energy, .energy_j = 260, .samples = 3000};
  double before_j = std::numeric_limits<double>::infinity();
  for (const double time_s : {7.5, 8.0, 9.0, 10.0, 12.0, 20.0, 30.0, 100.0}) {
    task.time_s = time_s;
    const BatteryPlan plan = plan_battery(PowerHull(kPoints), task);
    EXPECT_EQ(plan.shortfall, Shortfall::none) << time_s;
    EXPECT_LE(plan.energy_j, before_j * (1 + 1e-9)) << time_s;
    EXPECT_LE(plan.time_s, time_s * (1 + 1e-9)) << time_s;
    EXPECT_NEAR(plan.samples, 3000, 1e-6) << time_s;
    before_j = plan.energy_j;
  }
  EXPECT_NEAR(before_j, 200, 1e-6);
}

TEST(BatteryPlan, CountsWhatOthersDrawForADeadlineToo) {
  // With 200 W beside it 40 W do most a joule, and 15 s of them take the least.
  const BatteryPlan plan = plan_battery(PowerHull(kPoints), {.aim = BatteryAim::least_energy,
                                                             .energy_j = 4000,
                                                             .other_w = 200,
                                                             .samples = 6300,
                                                             .time_s = 60});
  EXPECT_EQ(plan.shortfall, Shortfall::none);
  EXPECT_NEAR(plan.mean_power_w, 40, 1e-9);
  EXPECT_NEAR(plan.energy_j, 3600, 1e-6);
}

TEST(BatteryPlan, ServesUntilItsTimeWithAllOfTheEnergy) {
  const BatteryPlan plan =
      plan_battery(PowerHull(kPoints),
                   {.aim = BatteryAim::serve, .energy_j = 3000, .other_w = 5, .time_s = 100});
  EXPECT_NEAR(plan.mean_power_w, 25, 1e-9);
  EXPECT_NEAR(plan.samples, 34500, 1e-6);
}

TEST(BatteryPlan, DoesTheMostWorkWhereToWaitDoesNotLastUntilItsTimeEither) {
  std::vector<WorkPoint> points = kPoints;
  points.push_back({8, 0});
  const PowerHull hull(points);
  for (const double energy_j : {0.0, 500.0, 799.0}) {
    const BatteryPlan most =
        plan_battery(hull, {.aim = BatteryAim::progress, .energy_j = energy_j});
    const BatteryPlan poor =
        plan_battery(hull, {.aim = BatteryAim::serve, .energy_j = energy_j, .time_s = 100});
    EXPECT_EQ(poor.shortfall, Shortfall::energy) << energy_j;
    EXPECT_EQ(poor.mean_power_w, 20) << energy_j;
    EXPECT_DOUBLE_EQ(poor.samples, most.samples) << energy_j;
  }
}

TEST(BatteryPlan, LastsAsLongAsItCanWhereNothingWaits) {
  const PowerHull hull(kPoints);
  BatteryTask task{.aim = BatteryAim::serve, .energy_j = 950, .time_s = 100};
  const BatteryPlan plan = plan_battery(hull, task);
  EXPECT_EQ(plan.shortfall, Shortfall::energy);
  EXPECT_EQ(plan.mean_power_w, 10);
  EXPECT_NEAR(plan.time_s, 95, 1e-9);
  EXPECT_NEAR(plan.energy_j, 950, 1e-6);
  EXPECT_NEAR(plan.samples, 9500, 1e-6);
  task.spare_j = 50;
  EXPECT_EQ(plan_battery(hull, task).shortfall, Shortfall::none);
}

TEST(BatteryPlan, WaitsWhereTheEnergyLastsUntilItsTimeBySoMuch) {
  std::vector<WorkPoint> points = kPoints;
  points.push_back({8, 0});
  BatteryTask task{.aim = BatteryAim::serve, .energy_j = 860, .time_s = 100};
  const BatteryPlan plan = plan_battery(PowerHull(points), task);
  EXPECT_EQ(plan.shortfall, Shortfall::none);
  EXPECT_NEAR(plan.mean_power_w, 8.6, 1e-9);
  EXPECT_NEAR(plan.energy_j, 860, 1e-6);
  // What is spared for errors is no lack yet.
  task.energy_j = 790;
  task.spare_j = 20;
  const BatteryPlan spared = plan_battery(PowerHull(points), task);
  EXPECT_EQ(spared.shortfall, Shortfall::none);
  EXPECT_EQ(spared.mean_power_w, 8);
}

TEST(BatteryPlan, MakesMostProgressByWhatAJouleDoesAltogether) {
  const BatteryTask alone{.aim = BatteryAim::progress, .energy_j = 2000};
  EXPECT_DOUBLE_EQ(plan_battery(PowerHull(kPoints), alone).mean_power_w, 20);
  const BatteryTask beside{.aim = BatteryAim::progress, .energy_j = 2000, .other_w = 200};
  EXPECT_DOUBLE_EQ(plan_battery(PowerHull(kPoints), beside).mean_power_w, 40);
}

TEST(BatteryPlan, TellsNoTimeWhereAChargerGivesAll) {
  const BatteryTask fed{.aim = BatteryAim::progress, .energy_j = 2000, .other_w = -60};
  EXPECT_EQ(describe(plan_battery(PowerHull(kPoints), fed)),
            "40.0 W, as long as a charger gives it");
  const BatteryTask helped{.aim = BatteryAim::progress, .energy_j = 2000, .other_w = -15};
  EXPECT_EQ(describe(plan_battery(PowerHull(kPoints), helped)), "20.0 W for 400 s");
}

// At 20 W a joule of the board's does most.
TEST(BatteryPlan, DoesNoLessTheMoreAChargerGives) {
  const PowerHull hull(kPoints);
  double before = 0;
  for (double charger_w = 0; charger_w <= 60; charger_w += 0.25) {
    const BatteryPlan plan =
        plan_battery(hull, {.aim = BatteryAim::progress, .energy_j = 2000, .other_w = -charger_w});
    EXPECT_DOUBLE_EQ(plan.mean_power_w, std::clamp(charger_w, 20.0, 40.0)) << charger_w;
    EXPECT_EQ(plan.charged, charger_w >= 20) << charger_w;
    const double samples_per_s = hull.samples_per_s(plan.mean_power_w);
    EXPECT_GE(samples_per_s, before) << charger_w;
    before = samples_per_s;
    const BatteryPlan poor = plan_battery(
        hull, {.aim = BatteryAim::finish, .energy_j = 0, .other_w = -charger_w, .samples = 1e9});
    EXPECT_EQ(poor.shortfall, Shortfall::energy) << charger_w;
    EXPECT_DOUBLE_EQ(poor.mean_power_w, plan.mean_power_w) << charger_w;
  }
}

TEST(BatteryPlan, KnowsNothingOfAnEmptyHull) {
  EXPECT_EQ(plan_battery(PowerHull(), {.energy_j = 10}).shortfall, Shortfall::unknown);
}

// No mixture of three settings, on a grid of shares, is done sooner with the same energy.
TEST(BatteryPlan, NoMixtureOfThreeSettingsBeatsTwo) {
  std::mt19937_64 engine(7);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(engine() >> 11) / 9007199254740992.0;
  };
  constexpr int kSteps = 12;
  int compared = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<WorkPoint> points;
    for (int i = 0; i < 6; ++i) points.push_back({uniform(5, 50), uniform(20, 500)});
    const double other_w = uniform(0, 10);
    const double samples = 10000;
    const double energy_j = uniform(0.2, 3) * samples;
    const BatteryPlan plan = plan_battery(
        PowerHull(points),
        {.aim = BatteryAim::finish, .energy_j = energy_j, .other_w = other_w, .samples = samples});
    for (std::size_t a = 0; a < points.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        for (std::size_t c = 0; c < b; ++c) {
          for (int i = 0; i <= kSteps; ++i) {
            for (int j = 0; i + j <= kSteps; ++j) {
              const double share[] = {i / 12.0, j / 12.0, (kSteps - i - j) / 12.0};
              const WorkPoint* const mixed[] = {&points[a], &points[b], &points[c]};
              double time_s = 0;
              double used_j = 0;
              for (int k = 0; k < 3; ++k) {
                const double part_s = share[k] * samples / mixed[k]->samples_per_s;
                time_s += part_s;
                used_j += part_s * (mixed[k]->power_w + other_w);
              }
              if (used_j > energy_j) continue;
              ++compared;
              ASSERT_EQ(plan.shortfall, Shortfall::none) << round;
              ASSERT_LE(plan.time_s, time_s * (1 + 1e-9)) << round;
            }
          }
        }
      }
    }
    if (plan.shortfall != Shortfall::none) continue;
    EXPECT_LE(plan.energy_j, energy_j * (1 + 1e-9));
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace gearshift
