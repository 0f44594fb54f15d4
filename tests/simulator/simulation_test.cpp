#include "simulator/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "limits/operator_limit.h"
#include "simulator/exhaustive_optimum.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

using fakes::hold;
using fakes::ListPolicy;
using fakes::measure;
using fakes::mode;

// 40 ms and 20 W at 4 cores and 900 MHz; slower and thriftier below.
Profile small_profile() {
  Profile profile(fakes::two_knobs());
  profile.workload = "small";
  for (const std::int64_t cores : {1, 2, 3, 4}) {
    for (const std::int64_t gpu : {300000, 600000, 900000}) {
      const double speed = static_cast<double>(cores) / 4 * static_cast<double>(gpu) / 900000;
      for (const std::int32_t batch : {8, 16, 32}) {
        profile.add({.mode = mode(cores, gpu),
                     .batch_size = batch,
                     .minibatch_ms = 40 * batch / 16.0 / speed,
                     .power_w = 8 + 12 * speed,
                     .epoch_s = {}});
      }
    }
  }
  return profile;
}

SimulationProblem small_problem(const Profile& profile, const CostSource& costs) {
  SimulationProblem problem;
  problem.board = "small";
  problem.knobs = profile.knobs();
  problem.tasks = {{.name = "small",
                    .kind = Kind::train,
                    .batch_sizes = profile.batch_sizes(),
                    .batch_size = 16,
                    .costs = &costs}};
  return problem;
}

ListPolicy measure_all(const std::vector<PowerMode>& modes) {
  return ListPolicy([modes](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.size() < modes.size() ? measure(modes[answers.size()]) : hold(modes.back());
  });
}

TEST(Simulation, SaysWhyTheSafeSettingIsHeld) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  ListPolicy policy([](const PolicyContext&, const auto&) { return Request{}; });
  OperatorLimit limit(18'000);
  const SimulationResult result = simulate(small_problem(profile, costs), policy, limit);
  EXPECT_EQ(result.ending, Ending::safe);
  EXPECT_EQ(result.safe_why, "the policy found no setting");
  ListPolicy chooses = measure_all({mode(1, 300000)});
  EXPECT_EQ(simulate(small_problem(profile, costs), chooses, limit).safe_why, "");
}

TEST(Simulation, WithoutEffectsAnObservationIsTheCell) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  const SimulationProblem problem = small_problem(profile, costs);
  ListPolicy policy = measure_all({mode(4, 900000), mode(2, 300000), mode(3, 600000)});
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  ASSERT_EQ(result.ending, Ending::held);
  ASSERT_EQ(policy.answers.size(), 3U);
  for (const Observation& answer : policy.answers) {
    const ProfileCell& cell = *profile.find(answer.setting.mode, 16);
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer.power_mean_mw, std::llround(1000 * cell.power_w));
    EXPECT_EQ(answer.power_margin_mw, 0);
    EXPECT_NEAR(gearshift::seconds(answer.cost[0].minibatch_mean), cell.minibatch_ms / 1e3, 2e-9);
    EXPECT_GE(answer.duration, std::chrono::milliseconds(2000));
  }
  EXPECT_EQ(result.setting.mode, mode(3, 600000));
  EXPECT_EQ(result.measured.size(), 3U);
  EXPECT_DOUBLE_EQ(result.cost[0]->minibatch_ms, profile.find(mode(3, 600000), 16)->minibatch_ms);
}

TEST(Simulation, ASettingThatWasNotTimedIsRefused) {
  Profile profile(fakes::two_knobs());
  const Profile timed = small_profile();
  for (ProfileCell one : timed.cells()) {
    if (one.mode == mode(2, 300000)) one.minibatch_ms = kNotTimed;
    profile.add(one);
  }
  const ProfileCosts costs(profile, Missing::refuse);
  const SimulationProblem problem = small_problem(profile, costs);
  ListPolicy policy = measure_all({mode(4, 900000), mode(2, 300000), mode(3, 600000)});
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::held);
  EXPECT_EQ(result.refused, 1U);
  EXPECT_EQ(result.measured.size(), 2U);
}

// Where the policy insists on a setting that was over the cap, the best that fits it is held.
TEST(Simulation, TheBestThatWasMeasuredIsAChoiceAndTheSafeModeIsNone) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal.power_mw = 18000;
  const PowerMode fits = mode(3, 600000);
  const PowerMode over = mode(4, 900000);
  for (const auto& modes : {std::vector{fits, over}, std::vector{over}}) {
    ListPolicy policy = measure_all(modes);
    OperatorLimit limit(18000);
    const SimulationResult result = simulate(problem, policy, limit);
    EXPECT_EQ(result.ending, modes.size() == 2 ? Ending::held : Ending::safe);
    EXPECT_EQ(result.setting.mode == fits, modes.size() == 2);
    EXPECT_FALSE(result.observation) << "it is not the policy's choice";
  }
}

TEST(Simulation, AChoiceThatIsHeldWhenTheTimeIsOverIsHeld) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal.power_mw = 18'000;
  problem.hold = problem.most_duration = std::chrono::seconds(60);
  problem.least_duration = problem.hold;
  ListPolicy policy = measure_all({mode(3, 600000)});
  OperatorLimit limit(18'000);
  SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::held);
  ASSERT_TRUE(result.observation);
  EXPECT_EQ(result.observation->setting.mode, mode(3, 600000));
  EXPECT_LT(result.held_for, problem.hold);
  EXPECT_NEAR(gearshift::seconds(result.held_for),
              gearshift::seconds(result.duration - result.search), 1);
  ListPolicy over = measure_all({mode(4, 900000)});
  result = simulate(problem, over, limit);
  EXPECT_EQ(result.ending, Ending::safe);
  EXPECT_NE(result.safe_why, "");
  problem.most_duration = std::chrono::milliseconds(500);
  ListPolicy late = measure_all({mode(3, 600000)});
  EXPECT_EQ(simulate(problem, late, limit).ending, Ending::unsettled);
}

// Measurements of known settings count; answers from memory and refusals do not.
TEST(Simulation, EndsWithTheMeasurementsThatItsProblemAllows) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.stop_after = 5;
  const std::vector<PowerMode> modes = {mode(4, 900000), mode(2, 300000)};
  ListPolicy policy([&](const PolicyContext&, const std::vector<Observation>& answers) {
    Request request = measure(modes[answers.size() % 2]);
    if (answers.size() % 3 != 2) request.what = Request::What::remeasure;
    if (answers.size() == 1) request.setting.batch_size[0] = 17;
    return request;
  });
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::unsettled);
  EXPECT_FALSE(result.search_ended);
  EXPECT_EQ(result.search, result.duration) << "the search took all of it";
  EXPECT_GT(result.search_j, 0);
  EXPECT_EQ(result.search_j, result.energy.energy_j);
  ASSERT_EQ(result.sequence.size(), 5U);
  std::vector<PowerMode> asked;
  for (const Observation& answer : policy.answers) {
    if (answer.ok() && !answer.from_memory) asked.push_back(answer.setting.mode);
  }
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.sequence[i].mode, asked[i]) << i;
  EXPECT_GT(policy.answers.size(), 5U);
}

// A script that asks for one setting of 40 W after the other under a cap of 20 W.
SimulationResult ask_for_what_is_over_the_cap(const Effects& effects,
                                              std::optional<Duration> sensor_interval,
                                              Duration least_duration) {
  KnobSpace knobs{.knobs = {{"gpu_mhz", Unit::khz, KnobClass::clock, {}}}};
  for (int step = 1; step <= 2000; ++step) knobs.knobs[0].values.push_back(1000 * step);
  Profile profile(knobs);
  profile.workload = "small";
  std::vector<PowerMode> modes;
  for (const std::int64_t khz : knobs.knobs[0].values) {
    modes.push_back(PowerMode{.values = {khz}, .count = 1});
    profile.add({modes.back(), 16, 40, khz == 1000 ? 10.0 : 40.0, {}});
  }
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal.power_mw = 20000;
  problem.most_duration = std::chrono::hours(2);
  problem.least_duration = least_duration;
  problem.effects = effects;
  problem.sensor_interval = sensor_interval;
  ListPolicy policy([&](const PolicyContext&, const std::vector<Observation>& answers) {
    return measure(modes[1 + answers.size() % 1999]);
  });
  OperatorLimit limit(20000);
  return simulate(problem, policy, limit);
}

// Power that no reading has come to yet is cut in three readings, and counts.
TEST(Simulation, AProbeBehindASensorThatAveragesIsCutBeforeTheMeanIsOverTheCap) {
  const std::chrono::milliseconds often(100);
  const SimulationResult result = ask_for_what_is_over_the_cap(
      {.lag = LagShape::boxcar, .lag_constant = std::chrono::milliseconds(430)}, often,
      std::chrono::hours(2));
  EXPECT_GT(result.measured.size(), 5U);
  EXPECT_LE(result.energy.longest_over_cap_s, 0.3);
  const double saved_up = 1 + 300 / gearshift::seconds(result.duration);
  EXPECT_LE(result.energy.over_cap_j, 0.002 * result.energy.energy_j * saved_up + 20 * 0.3);
}

// However many settings a script asks for that are over the cap, little of the energy is.
TEST(Simulation, AScriptThatAsksForOneProbeOverTheCapAfterTheOtherWaitsBetweenThem) {
  const SimulationResult result =
      ask_for_what_is_over_the_cap({}, std::chrono::milliseconds(100), std::chrono::hours(2));
  EXPECT_GT(result.measured.size(), 5U) << "it waits, but does not end";
  const double saved_up = 1 + 300 / gearshift::seconds(result.duration);
  const double one_probe_j = 20 * 0.3;  // 20 W over for two readings, and the way back
  EXPECT_LE(result.energy.over_cap_j, 0.002 * result.energy.energy_j * saved_up + one_probe_j);
  EXPECT_GT(result.energy.over_cap_j, 0.001 * result.energy.energy_j);
}

TEST(Simulation, AChoiceEndsItBeforeAllMeasurementsAreMade) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.stop_after = 50;
  ListPolicy policy = measure_all({mode(4, 900000), mode(2, 300000)});
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::held);
  EXPECT_EQ(result.sequence.size(), 2U);
  EXPECT_EQ(result.setting.mode, mode(2, 300000));
}

TEST(Simulation, AWeightedGoalIsJudgedByTheReferenceThatTheControllerMeasures) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal = {.objective = Objective::weighted, .energy_weight = 0.5};
  for (const std::int64_t cap_mw : {20'000, 15'000}) {
    problem.goal.power_mw = cap_mw;
    ListPolicy policy = measure_all({mode(2, 300000)});
    OperatorLimit limit(cap_mw);
    simulate(problem, policy, limit);
    ASSERT_FALSE(policy.goals.empty());
    const Goal judging = judging_goal(problem);
    EXPECT_NEAR(policy.goals.back().reference_s, judging.reference_s, 1e-9) << cap_mw;
    EXPECT_NEAR(policy.goals.back().reference_j, judging.reference_j, 1e-6) << cap_mw;
    const bool highest = cap_mw == 20'000;
    EXPECT_EQ(judging.reference_s == 40e-3 / 16, highest) << cap_mw;
    const auto best = exhaustive_optimum(problem);
    ASSERT_TRUE(best);
    EXPECT_LE(best->value, 1) << "the reference itself costs 1";
  }
}

TEST(Simulation, AReferenceWithASmallerBatchIsTheOneThatTheControllerMeasures) {
  Profile profile(fakes::two_knobs());
  profile.workload = "small";
  const Profile small = small_profile();
  for (ProfileCell cell : small.cells()) {
    cell.power_w += 0.5 * (cell.batch_size - 8);  // 13 W with 16 in the lowest mode
    profile.add(cell);
  }
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal = {.objective = Objective::weighted, .power_mw = 12'500, .energy_weight = 0.5};
  ListPolicy policy = measure_all({mode(2, 300000)});
  OperatorLimit limit(12'500);
  simulate(problem, policy, limit);
  ASSERT_FALSE(policy.goals.empty());
  const Goal judging = judging_goal(problem);
  EXPECT_GT(judging.reference_s, 0);
  EXPECT_NEAR(policy.goals.back().reference_s, judging.reference_s, 1e-9);
  EXPECT_NEAR(policy.goals.back().reference_j, judging.reference_j, 1e-6);
}

// A GPU in its lowest clock keeps any cap under any limit, and no weighted goal is to be judged by
// what it takes there.
TEST(Simulation, TheReferenceOfABoardWithAPowerLimitIsNoLowClockUnderAHighLimit) {
  const KnobSpace knobs{
      {{"gpu_mhz", Unit::khz, KnobClass::clock, {300'000, 900'000, 1'410'000}},
       {"power_limit_w",
        Unit::mw,
        KnobClass::power_limit,
        {100'000, 125'000, 150'000, 175'000, 200'000, 225'000, 250'000, 275'000, 300'000}}}};
  Profile profile(knobs);
  profile.workload = "small";
  for (const PowerMode& mode : unmeasured_order(knobs)) {
    const double asked = static_cast<double>(mode.values[0]) / 1'410'000;
    const double limit_w = static_cast<double>(mode.values[1]) / 1000;
    const double reached = std::min(asked, std::sqrt((limit_w - 40) / 260));
    profile.add({mode, 16, 10 / reached, 40 + 260 * reached * reached, {}});
  }
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  for (const std::int64_t cap_mw : {110'000, 140'000, 180'000, 230'000, 280'000}) {
    problem.goal = {.objective = Objective::weighted, .power_mw = cap_mw, .energy_weight = 0};
    const auto best = exhaustive_optimum(problem);
    ASSERT_TRUE(best) << cap_mw;
    EXPECT_GT(best->value, 0.85) << cap_mw;
  }
}

TEST(ExhaustiveOptimum, CountsTheSettingsThatHaveACost) {
  Profile profile(fakes::two_knobs());
  profile.workload = "net";
  profile.add({mode(1, 300000), 16, 40, 10, {}});
  profile.add({mode(4, 900000), 16, 20, 20, {}});
  profile.add({mode(4, 900000), 32, 39, 21, {}});
  const ProfileCosts costs(profile, Missing::refuse);
  const auto best = exhaustive_optimum(small_problem(profile, costs));
  ASSERT_TRUE(best);
  EXPECT_EQ(best->settings, 3U);
}

// 27 settings over the cap draw more than five minutes' ration: the wait is not its end.
TEST(Simulation, ASearchThatWaitsForItsRationGoesOn) {
  const Profile profile = small_profile();
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.goal.power_mw = 9'500;
  problem.sensor_interval = std::chrono::milliseconds(100);
  std::vector<Request> requests{measure(mode(1, 300000), 16)};
  for (const std::int32_t batch : {8, 16, 32}) {
    for (const std::int64_t cores : {4, 3, 2}) {
      for (const std::int64_t gpu : {900000, 600000, 300000}) {
        requests.push_back(measure(mode(cores, gpu), batch));
      }
    }
  }
  requests.push_back(hold(mode(1, 300000), 16));
  ListPolicy policy([&](const PolicyContext&, const std::vector<Observation>& answers) {
    return requests.at(answers.size());
  });
  OperatorLimit limit(9'500);
  Duration rationed{};
  const SimulationResult result =
      simulate(problem, policy, limit, {.observer = [&](Plant&, const Status& status) {
                 if (status.phase == Phase::rationed) rationed += std::chrono::milliseconds(100);
               }});
  EXPECT_EQ(result.ending, Ending::held);
  EXPECT_EQ(result.setting.mode, mode(1, 300000));
  EXPECT_EQ(policy.answers.size(), requests.size() - 1);
  EXPECT_GT(rationed, std::chrono::seconds(20)) << "it was put to the test";
}

// After a step down the controller waits until requests that came before are answered.
TEST(Simulation, ASearchThatWaitsUntilRequestsAreInTimeGoesOn) {
  Profile profile = small_profile();
  profile.kind = Kind::infer;
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = small_problem(profile, costs);
  problem.tasks[0].kind = Kind::infer;
  problem.goal = {.objective = Objective::latency,
                  .power_mw = 18'000,
                  .latency = std::chrono::seconds(12),
                  .arrivals_per_s = 5};
  std::vector<Request> requests = {measure(mode(4, 900000)), measure(mode(3, 600000)),
                                   hold(mode(3, 600000))};
  for (Request& request : requests) request.setting.batch_size = {0, 16};
  ListPolicy policy([&](const PolicyContext&, const std::vector<Observation>& answers) {
    return requests.at(answers.size());
  });
  OperatorLimit limit(18'000);
  const SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::held);
  EXPECT_EQ(result.setting.mode, mode(3, 600000));
  EXPECT_EQ(result.measured.size(), 2U);
  EXPECT_EQ(result.measured_over_cap, 1U) << "it was put to the test";
}

TEST(Simulation, ALimitOfEnergyIsKeptAtTheLimitAndBrokenPastIt) {
  const TrueCost cost{.minibatch_ms = 500, .power_w = 16};  // 16 samples: half a joule each
  Goal goal{.energy_j = 0.5};
  EXPECT_TRUE(judged(goal, Kind::train, 16, cost));
  goal.energy_j = std::nextafter(0.5, 0);
  EXPECT_FALSE(judged(goal, Kind::train, 16, cost));
}

}  // namespace
}  // namespace gearshift
