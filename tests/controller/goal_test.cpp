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

TEST(Goal, KeepsALimitOfEnergyAtTheLimitAndBreaksItPastIt) {
  const Goal goal{.energy_j = 0.5};
  EXPECT_TRUE(goal.keeps_limits(Kind::train, 16, 0.5, 16));
  EXPECT_FALSE(goal.keeps_limits(Kind::train, 16, 0.5, 16.1));
  EXPECT_FALSE(goal.keeps_limits(Kind::train, 16, 0.501, 16));
}

TEST(Goal, CountsWhatAServerDrawsUntilTheNextRequestComes) {
  Goal goal{.objective = Objective::energy, .arrivals_per_s = 30, .one_by_one = true};
  EXPECT_DOUBLE_EQ(goal.value(Kind::infer, 4, 0.0124, 7.66), 7.66 / 30);
  EXPECT_DOUBLE_EQ(goal.value(Kind::train, 4, 0.0124, 7.66), 0.0031 * 7.66);
  EXPECT_DOUBLE_EQ(goal.drawn_s(Kind::infer, 0.0031), 1.0 / 30);
  EXPECT_DOUBLE_EQ(goal.drawn_s(Kind::train, 0.0031), 0.0031);
  goal.energy_j = 0.3;
  EXPECT_TRUE(goal.keeps_limits(Kind::infer, 4, 0.0124, 7.66));
  EXPECT_FALSE(goal.keeps_limits(Kind::infer, 16, 0.0281, 11.61));
}

TEST(Goal, LikeClockworkABatchIsToBeFullInTime) {
  const Goal goal{Objective::latency, 30'000, Duration(2'500'000'000), 20};
  EXPECT_TRUE(goal.keeps_pace(Kind::infer, 32, 0.8));
  EXPECT_FALSE(goal.keeps_pace(Kind::infer, 32, 1)) << "1.6 s for the batch to fill";
  EXPECT_FALSE(goal.keeps_pace(Kind::infer, 8, 0.5)) << "falls behind";
  EXPECT_TRUE(goal.keeps_pace(Kind::train, 8, 5));
  EXPECT_DOUBLE_EQ(goal.value(Kind::infer, 32, 0.8, 10), 2.4);
  EXPECT_DOUBLE_EQ(goal.value(Kind::train, 32, 0.8, 10), 0.025) << "nobody is answered";
}

TEST(Goal, OneByOneABatchIsToBeHalfFullInNineTenthsOfTheTime) {
  Goal goal{.latency = std::chrono::milliseconds(500), .arrivals_per_s = 30, .one_by_one = true};
  EXPECT_TRUE(goal.keeps_pace(Kind::infer, 16, 0.0265));
  EXPECT_TRUE(goal.keeps_pace(Kind::infer, 16, 0.183));
  EXPECT_FALSE(goal.keeps_pace(Kind::infer, 16, 0.184)) << "450.7 ms of 450";
  EXPECT_TRUE(goal.keeps_pace(Kind::infer, 6, 0.2)) << "as fast as they come";
  goal.objective = Objective::energy;
  EXPECT_FALSE(goal.keeps_pace(Kind::infer, 6, 0.171)) << "busy for more than 0.85 of 200 ms";
  EXPECT_TRUE(goal.keeps_pace(Kind::infer, 6, 0.169));
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

TEST(Goal, WhereNobodyGaveAnObjectiveItIsThroughputBesideRequestsAndElseTime) {
  const Goal beside{.latency = std::chrono::milliseconds(500),
                    .arrivals_per_s = 60,
                    .objective_by_default = true};
  const Goal pair = with_default_objective(beside, true);
  EXPECT_EQ(pair.objective, Objective::throughput);
  EXPECT_EQ(describe(pair), "throughput, the default beside requests");
  EXPECT_EQ(with_default_objective(pair, false), beside) << "one of the two has left";
  Goal unlimited = beside;
  unlimited.latency.reset();
  EXPECT_EQ(with_default_objective(unlimited, true), unlimited)
      << "requests would wait without end";
  Goal unknown = beside;
  unknown.arrivals_per_s = 0;
  EXPECT_EQ(with_default_objective(unknown, true), unknown);
  const Goal given = changed(pair, {.objective = Objective::energy});
  EXPECT_EQ(with_default_objective(given, true), given);
  EXPECT_EQ(describe(changed(pair, {.objective = Objective::throughput})), "throughput");
}

}  // namespace
}  // namespace gearshift
