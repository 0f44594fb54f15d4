#include "controller/goal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "controller/observation.h"

namespace gearshift {
namespace {

Goal weighted(double energy_weight) {
  return {.objective = Objective::weighted,
          .energy_weight = energy_weight,
          .reference_s = 2,
          .reference_j = 50};
}

TEST(Goal, WeightedCostIsOneInTheHighestSettingWhateverTheWeight) {
  for (const double weight : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    EXPECT_DOUBLE_EQ(weighted(weight).cost(2, 50), 1) << weight;
  }
}

TEST(Goal, WeightsAtTheirEndsCountTimeAloneOrEnergyAlone) {
  EXPECT_DOUBLE_EQ(weighted(0).cost(3, 10), 1.5);
  EXPECT_DOUBLE_EQ(weighted(1).cost(3, 10), 0.2);
  EXPECT_DOUBLE_EQ(weighted(0.5).cost(3, 10), 0.85);
  EXPECT_DOUBLE_EQ(weighted(0).cost(3, INFINITY), 1.5);
}

TEST(Goal, WeightedCostIsInfiniteUntilTheReferenceIsMeasured) {
  Goal goal = weighted(0.5);
  goal.reference_j = 0;
  EXPECT_TRUE(std::isinf(goal.cost(3, 10)));
}

TEST(Goal, TargetCostPricesTimeAtTheMostPower) {
  Goal goal{.objective = Objective::target, .energy_weight = 0.5, .priced_power_mw = 250'000};
  EXPECT_DOUBLE_EQ(goal.cost(10, 1000), 0.5 * 1000 + 0.5 * 250 * 10);
  goal.energy_weight = 1;
  EXPECT_DOUBLE_EQ(goal.cost(10, 1000), 1000);
  goal.energy_weight = 0;
  EXPECT_DOUBLE_EQ(goal.cost(10, 1000), 2500);
  goal.priced_power_mw = 0;
  EXPECT_TRUE(std::isinf(goal.cost(10, 1000)));
}

TEST(Goal, ValueOfARecurringJobIsItsEpochs) {
  const Goal goal{.objective = Objective::target, .energy_weight = 0.5, .priced_power_mw = 250'000};
  Observation seen;
  seen.power_mean_mw = 100'000;
  EXPECT_TRUE(std::isinf(seen.value(goal)));  // nothing ran
  seen.job = {JobState::running, 1, std::chrono::seconds(10)};
  EXPECT_DOUBLE_EQ(seen.value(goal), 0.5 * 1000 + 0.5 * 2500);
  seen.outcome = Outcome::refused;
  EXPECT_TRUE(std::isinf(seen.value(goal)));
}

TEST(Goal, ChangesOnlyWhatAChangeNames) {
  const Goal goal = weighted(0.25);
  EXPECT_EQ(changed(goal, {}), goal);
  EXPECT_EQ(changed(goal, {.energy_weight = 0.75}), weighted(0.75));
  EXPECT_EQ(changed(goal, {.objective = Objective::time}).objective, Objective::time);
  EXPECT_EQ(changed(goal, {.objective = Objective::time}).energy_weight, 0.25);
  EXPECT_EQ(describe(weighted(0.75)), "weighted, energy weight 0.75");
  EXPECT_EQ(describe(Goal{}), "time");
}

TEST(Goal, CannotBeChangedToWhatLacksANumber) {
  EXPECT_EQ(objection(weighted(0.25), {.energy_weight = 0.75}), "");
  EXPECT_EQ(objection(Goal{}, {.objective = Objective::weighted, .energy_weight = 1}), "");
  EXPECT_NE(objection(Goal{}, {.energy_weight = 0.75}), "") << "time has no energy weight";
  EXPECT_NE(objection(Goal{}, {.objective = Objective::latency}), "") << "no rate is known";
  EXPECT_EQ(objection({.arrivals_per_s = 60}, {.objective = Objective::latency}), "");
  EXPECT_NE(objection(Goal{}, {.objective = Objective::target}), "") << "nothing prices a second";
  EXPECT_EQ(objection({.priced_power_mw = 60000}, {.objective = Objective::target}), "");
}

}  // namespace
}  // namespace gearshift
