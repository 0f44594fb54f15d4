// What a choice is judged by: requests that come one by one, and the reference of a weighted goal.
#include "simulator/exhaustive_optimum.h"

#include <gtest/gtest.h>

#include "limits/schedule_limit.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

using fakes::hold;
using fakes::ListPolicy;
using fakes::measure;
using fakes::mode;

Profile profile_of(Kind kind, const std::vector<ProfileCell>& cells) {
  Profile profile(fakes::two_knobs());
  profile.workload = "net";
  profile.kind = kind;
  for (const ProfileCell& cell : cells) profile.add(cell);
  return profile;
}

SimulationProblem problem_of(const Profile& profile, const CostSource& costs) {
  SimulationProblem problem;
  problem.knobs = profile.knobs();
  problem.tasks = {{.name = profile.workload,
                    .kind = profile.kind,
                    .batch_sizes = profile.batch_sizes(),
                    .batch_size = profile.batch_sizes().front(),
                    .costs = &costs}};
  return problem;
}

// The controller holds batches that are half full in nine tenths of the limit.
TEST(ExhaustiveOptimum, OneByOneABatchNeedNotBeFullInTime) {
  Goal goal{.objective = Objective::energy,
            .latency = std::chrono::milliseconds(500),
            .arrivals_per_s = 30};
  TrueCost cost;
  cost.minibatch_ms = 26.5;
  cost.power_w = 12;
  EXPECT_FALSE(judged(goal, Kind::infer, 16, cost)) << "533 ms to fill";
  goal.one_by_one = true;
  EXPECT_DOUBLE_EQ(*judged(goal, Kind::infer, 16, cost), 0.4) << "12 W until the next one comes";
  cost.minibatch_ms = 184;
  EXPECT_FALSE(judged(goal, Kind::infer, 16, cost)) << "450.7 ms of 450";
}

TEST(ExhaustiveOptimum, AServerDrawsTheIdleBoardsPowerBetweenItsBatches) {
  const Profile profile =
      profile_of(Kind::infer, {{mode(1, 300000), 4, 40, 10, {}}, {mode(4, 900000), 4, 20, 20, {}}});
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = problem_of(profile, costs);
  problem.tasks[0].arrivals = ArrivalSpec{.rate_per_s = 50};
  problem.goal = {.objective = Objective::energy, .power_mw = 13'000, .arrivals_per_s = 50};
  const auto best = exhaustive_optimum(problem);
  ASSERT_TRUE(best);
  // Busy for half and a quarter of the time; an idle board draws half of what the workload does.
  EXPECT_DOUBLE_EQ(best->cost.power_w, 7.5);
  EXPECT_DOUBLE_EQ(best->value, 7.5 / 50);
  const TrueCost fast = with_pauses(problem.goal, problem.tasks[0], mode(4, 900000), 4,
                                    *costs.cost(mode(4, 900000), 4));
  EXPECT_DOUBLE_EQ(fast.power_w, 12.5);
  EXPECT_TRUE(judged(judging_goal(problem), Kind::infer, 4, fast)) << "the mean keeps 13 W";
}

// The controller plans for two requests in the limit at least, and lets batches wait no longer.
TEST(ExhaustiveOptimum, OfRareRequestsTheLimitIsJudgedAtTheRateThatIsPlannedFor) {
  Goal goal{.objective = Objective::energy,
            .latency = std::chrono::milliseconds(500),
            .arrivals_per_s = 0.5};
  goal.one_by_one = true;
  TrueCost cost;
  cost.minibatch_ms = 100;
  cost.power_w = 12;
  ASSERT_TRUE(judged(goal, Kind::infer, 1, cost)) << "2 s to come, 250 ms as planned";
  EXPECT_DOUBLE_EQ(*judged(goal, Kind::infer, 1, cost), 24) << "energy is what they take";
  EXPECT_FALSE(judged(goal, Kind::infer, 4, cost)) << "500 ms until half of them have come";
  cost.minibatch_ms = 220;
  EXPECT_FALSE(judged(goal, Kind::infer, 1, cost)) << "busy for 88 % of what is planned for";
  goal.energy_j = 23;
  cost.minibatch_ms = 100;
  EXPECT_FALSE(judged(goal, Kind::infer, 1, cost)) << "24 J";
}

TEST(ExhaustiveOptimum, TheReferenceOfAServerIsOfABatchThatCanBeInTime) {
  const Profile profile = profile_of(Kind::infer, {{mode(1, 300000), 1, 40, 9, {}},
                                                   {mode(4, 900000), 1, 20, 12, {}},
                                                   {mode(1, 300000), 16, 200, 10, {}},
                                                   {mode(4, 900000), 16, 100, 20, {}}});
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = problem_of(profile, costs);
  problem.tasks[0].batch_size = 16;
  problem.tasks[0].arrivals = ArrivalSpec{.rate_per_s = 20};
  problem.goal = {.objective = Objective::weighted,
                  .latency = std::chrono::milliseconds(400),
                  .arrivals_per_s = 20};
  EXPECT_DOUBLE_EQ(judging_goal(problem).reference_s, 20e-3);
}

// No limit that falls makes the controller measure another one.
TEST(ExhaustiveOptimum, AfterACapThatFellAWeightedGoalIsJudgedByTheReferenceThatTheRunHad) {
  const Profile profile = profile_of(Kind::train, {{mode(1, 300000), 16, 90, 9, {}},
                                                   {mode(2, 300000), 16, 70, 12, {}},
                                                   {mode(3, 600000), 16, 60, 14, {}},
                                                   {mode(4, 900000), 16, 40, 20, {}}});
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = problem_of(profile, costs);
  problem.goal = {.objective = Objective::weighted, .power_mw = 20'000, .energy_weight = 0.5};
  problem.least_duration = std::chrono::seconds(120);
  ListPolicy policy([](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(mode(2, 300000)) : hold(mode(2, 300000));
  });
  ScheduleLimit limit({{{}, 20'000}, {std::chrono::seconds(60), 15'000}});
  const SimulationResult result = simulate(problem, policy, limit);
  ASSERT_TRUE(result.reference);
  EXPECT_EQ(result.reference->mode, mode(4, 900000));
  problem.goal.power_mw = 15'000;
  const Goal judging = judging_goal(problem, result.reference);
  EXPECT_DOUBLE_EQ(judging.reference_s, 40e-3 / 16);
  EXPECT_DOUBLE_EQ(judging.reference_j, 40e-3 / 16 * 20);
  EXPECT_GT(judging_goal(problem).reference_s, judging.reference_s) << "searched under the new cap";
  const auto best = exhaustive_optimum(problem, result.reference);
  const auto anew = exhaustive_optimum(problem);
  ASSERT_TRUE(best && anew);
  EXPECT_NE(best->value, anew->value);
}

}  // namespace
}  // namespace gearshift
