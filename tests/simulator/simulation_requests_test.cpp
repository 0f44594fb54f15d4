// The whole loop beside requests that come one by one: the controller that runs live, on a plant
// whose accelerator trains and serves by turns.
#include <gtest/gtest.h>

#include <limits>

#include "limits/operator_limit.h"
#include "simulator/simulation.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

using fakes::ListPolicy;
using fakes::measure;
using fakes::mode;
using std::chrono::seconds;

// At the highest mode 25 ms of training and 4 + n ms for n requests; slower and thriftier below.
Profile profile_of(Kind kind) {
  Profile profile(fakes::two_knobs());
  profile.workload = kind_name(kind);
  profile.kind = kind;
  for (const std::int64_t cores : {1, 2, 3, 4}) {
    for (const std::int64_t gpu : {300000, 600000, 900000}) {
      const double speed = static_cast<double>(cores) / 4 * static_cast<double>(gpu) / 900000;
      for (const std::int32_t batch : {1, 4, 16}) {
        profile.add({.mode = mode(cores, gpu),
                     .batch_size = batch,
                     .minibatch_ms = (kind == Kind::train ? 25.0 : 4 + batch) / speed,
                     .power_w = 8 + (kind == Kind::train ? 14 : 10) * speed,
                     .epoch_s = {}});
      }
    }
  }
  return profile;
}

struct ServingBench {
  explicit ServingBench(const ArrivalSpec& arrivals) {
    problem.board = "small";
    problem.knobs = trains.knobs();
    problem.tasks = {{.name = "net",
                      .kind = Kind::train,
                      .batch_sizes = {16},
                      .batch_size = 16,
                      .costs = &train_costs},
                     {.name = "served",
                      .kind = Kind::infer,
                      .batch_sizes = {1, 4, 16},
                      .batch_size = 4,
                      .costs = &infer_costs,
                      .arrivals = arrivals,
                      .latency = seconds(1)}};
    problem.goal.objective = Objective::throughput;
    problem.goal.latency = seconds(1);
    problem.effects = parse_effects("jitter,lag");
    problem.hold = seconds(60);
    problem.most_duration = seconds(600);
  }
  // Measures each mode with batches of 16, and holds the best that keeps the goal.
  SimulationResult run(const std::vector<PowerMode>& modes) {
    ListPolicy policy([&](const PolicyContext& context, const std::vector<Observation>& answers) {
      const bool asks = answers.size() < modes.size();
      Request request = measure(asks ? modes[answers.size()] : modes.back());
      request.setting.batch_size = {16, 16};
      if (asks) return request;
      request.what = Request::What::hold_safe;
      double least = std::numeric_limits<double>::infinity();
      for (const Observation& seen : answers) {
        if (!seen.keeps(context.goal) || seen.value(context.goal) >= least) continue;
        least = seen.value(context.goal);
        request.what = Request::What::hold;
        request.setting = seen.setting;
      }
      return request;
    });
    OperatorLimit limit(problem.goal.power_mw);
    return simulate(problem, policy, limit);
  }

  const Profile trains = profile_of(Kind::train);
  const Profile infers = profile_of(Kind::infer);
  const ProfileCosts train_costs{trains, Missing::refuse};
  const ProfileCosts infer_costs{infers, Missing::refuse};
  SimulationProblem problem;
};

const std::vector<PowerMode> kModes = {mode(4, 900000), mode(3, 900000), mode(4, 600000)};

TEST(SimulationRequests, EachKindIsMeasuredByItsOwnTimes) {
  ServingBench bench({.rate_per_s = 60});
  const SimulationResult result = bench.run(kModes);
  ASSERT_EQ(result.ending, Ending::held);
  const Observation& seen = *result.observation;
  const PowerMode& held = result.setting.mode;
  const double train_s = bench.trains.find(held, 16)->minibatch_ms / 1e3;
  const double infer_s = bench.infers.find(held, 16)->minibatch_ms / 1e3;
  EXPECT_NEAR(gearshift::seconds(seen.cost[index(Kind::train)].minibatch_mean), train_s,
              0.03 * train_s);
  EXPECT_NEAR(gearshift::seconds(seen.cost[index(Kind::infer)].minibatch_mean), infer_s,
              0.03 * infer_s);
  // Between what training draws and what inference does.
  EXPECT_GT(seen.power_mean_mw, 1000 * bench.infers.find(held, 16)->power_w);
  EXPECT_LT(seen.power_mean_mw, 1000 * bench.trains.find(held, 16)->power_w);
}

TEST(SimulationRequests, TheGoalHasTheRateThatArrivesAndRequestsAreInTime) {
  ServingBench bench({.rate_per_s = 60});
  bench.problem.hold = seconds(300);
  const SimulationResult result = bench.run(kModes);
  ASSERT_EQ(result.ending, Ending::held);
  ASSERT_TRUE(result.requests);
  EXPECT_NEAR(result.requests->arrived / gearshift::seconds(result.duration), 60, 3);
  EXPECT_LT(result.requests->late, 0.005 * result.requests->arrived);
}

TEST(SimulationRequests, ABurstIsServedAndTrainedBeside) {
  ArrivalSpec arrivals{.rate_per_s = 60};
  arrivals.bursts = {{3, Time{} + seconds(60), seconds(30)}};
  ServingBench bench(arrivals);
  bench.problem.least_duration = seconds(300);
  const SimulationResult result = bench.run(kModes);
  EXPECT_EQ(result.ending, Ending::held);
  EXPECT_NEAR(result.requests->arrived, 60 * gearshift::seconds(result.duration) + 3600, 900);
  EXPECT_LT(result.requests->late, 0.005 * result.requests->arrived);
}

TEST(SimulationRequests, AProbeIsOverTheCapWhereTheMeanOfAWindowIs) {
  ServingBench bench({.rate_per_s = 60});
  bench.problem.sharing = Sharing::interleaved;
  bench.problem.goal.arrivals_per_s = 60;
  // Training draws 22 W in the highest mode, and some three quarters of the time are its own.
  bench.problem.goal.power_mw = 21'900;
  EXPECT_EQ(bench.run(kModes).measured_over_cap, 0U);
  bench.problem.goal.power_mw = 20'000;
  EXPECT_EQ(bench.run(kModes).measured_over_cap, 1U);
}

TEST(SimulationRequests, WhatWasCutAsLateWasMeasuredToo) {
  ServingBench bench({.rate_per_s = 200});  // 66 a second are the most that the lowest mode serves
  const SimulationResult result = bench.run({mode(4, 900000), mode(1, 300000)});
  EXPECT_GT(result.requests->late, 0U);
  ASSERT_EQ(result.measured.size(), 2U);
  EXPECT_EQ(result.measured[1].mode, mode(1, 300000));
}

TEST(SimulationRequests, EqualProblemsGiveEqualResults) {
  ServingBench one({.rate_per_s = 60});
  ServingBench two({.rate_per_s = 60});
  const SimulationResult first = one.run(kModes);
  const SimulationResult second = two.run(kModes);
  EXPECT_EQ(first.requests->latency_p99, second.requests->latency_p99);
  EXPECT_EQ(first.duration, second.duration);
  EXPECT_EQ(first.energy.energy_j, second.energy.energy_j);
}

}  // namespace
}  // namespace gearshift
