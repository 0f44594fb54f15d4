// A board on a battery: a mission ends with its work or its battery, and a battery limit decides
// which.
#include <gtest/gtest.h>

#include "limits/battery_limit.h"
#include "limits/operator_limit.h"
#include "simulator/simulation.h"
#include "tests/fakes/fake_world.h"

namespace gearshift {
namespace {

using fakes::hold;
using fakes::ListPolicy;
using fakes::measure;
using fakes::mode;
using std::chrono::minutes;

// 40 ms and 20 W at full speed, 60 ms and 11.1 W at two thirds of it, 120 ms and 5.8 W at one
// third.
Profile profile_of_speeds() {
  Profile profile(fakes::two_knobs());
  profile.workload = "small";
  for (const std::int64_t gpu : {300000, 600000, 900000}) {
    const double speed = static_cast<double>(gpu) / 900000;
    profile.add({.mode = mode(4, gpu),
                 .batch_size = 16,
                 .minibatch_ms = 40 / speed,
                 .power_w = 4 + 16 * speed * speed,
                 .epoch_s = {}});
  }
  return profile;
}

// Measures all modes, fastest last, and holds the fastest one within the goal's cap.
ListPolicy fastest_within() {
  return ListPolicy([](const PolicyContext& context, const std::vector<Observation>& answers) {
    const std::vector<PowerMode> modes = {mode(4, 300000), mode(4, 600000), mode(4, 900000)};
    if (answers.size() < modes.size()) return measure(modes[answers.size()]);
    PowerMode best = modes.front();
    for (const Observation& answer : answers) {
      if (answer.ok() && answer.within(context.goal.power_mw.value_or(0)))
        best = answer.setting.mode;
    }
    return hold(best);
  });
}

class MissionTest : public testing::Test {
 protected:
  SimulationProblem mission_of(double capacity_wh, std::int64_t samples) const {
    SimulationProblem problem;
    problem.board = "small";
    problem.knobs = profile_.knobs();
    problem.tasks = {{.name = "small",
                      .kind = Kind::train,
                      .batch_sizes = {16},
                      .batch_size = 16,
                      .samples_per_epoch = 1000,
                      .costs = &costs_}};
    problem.most_duration = minutes(30);
    problem.mission =
        Mission{.supply = {.battery = {.capacity_wh = capacity_wh}}, .samples = samples};
    return problem;
  }

  const Profile profile_ = profile_of_speeds();
  const ProfileCosts costs_{profile_, Missing::refuse};
};

TEST_F(MissionTest, EndsWithItsWork) {
  const SimulationProblem problem = mission_of(10, 50'000);
  ListPolicy policy = fastest_within();
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  ASSERT_EQ(result.ending, Ending::done);
  EXPECT_GE(result.mission->samples, 50'000);
  EXPECT_LT(result.mission->samples, 50'100);
  const double used_wh = (result.energy.energy_j / 3600) + result.mission->lost_wh;
  EXPECT_NEAR(result.mission->energy_wh, 10 - used_wh, 1e-6);
}

TEST_F(MissionTest, EndsWithItsBattery) {
  const SimulationProblem problem = mission_of(1, 500'000);
  ListPolicy policy = fastest_within();
  OperatorLimit limit(std::nullopt);
  const SimulationResult result = simulate(problem, policy, limit);
  EXPECT_EQ(result.ending, Ending::empty);
  EXPECT_LT(result.mission->least_wh, 0.2);
}

TEST_F(MissionTest, ABatteryLimitFinishesWhatTheFastestModeDoesNot) {
  // 4 Wh above the reserve: 288,000 samples at 20 W, 346,000 at 11.1 W and 332,000 at 5.8 W.
  const SimulationProblem problem = mission_of(5, 330'000);
  ListPolicy fastest = fastest_within();
  OperatorLimit none(std::nullopt);
  EXPECT_LT(simulate(problem, fastest, none).mission->least_wh, 1);
  ListPolicy policy = fastest_within();
  BatteryLimit battery({.aim = BatteryAim::finish, .epochs = 330});
  LimitSource* const limits[] = {&none, &battery};
  const SimulationResult result = simulate(problem, policy, limits);
  EXPECT_EQ(result.ending, Ending::done);
  EXPECT_GE(result.mission->least_wh, 1);
  EXPECT_LT(result.mission->energy_wh, 1.2);  // as soon as the energy allows
  EXPECT_EQ(result.mission->pauses, 0U);
}

// 1 Wh above the reserve do not last for a day, whoever waits.
TEST_F(MissionTest, ATimeOutOfReachCostsNoWork) {
  const SimulationProblem problem = mission_of(1.25, 0);
  const auto samples = [&](const BatteryLimitOptions& options) {
    ListPolicy policy = fastest_within();
    BatteryLimit battery(options);
    return simulate(problem, policy, battery).mission->samples;
  };
  const auto most = samples({.aim = BatteryAim::progress});
  EXPECT_GT(most, 60'000);
  EXPECT_GE(samples({.aim = BatteryAim::serve, .until = std::chrono::hours(24), .pause_w = 3}),
            most);
}

// Whose power nothing tells where the board has no model.
TEST_F(MissionTest, TheLowestModeIsNotOverACapWhereABrownOutAsksForIt) {
  SimulationProblem problem = mission_of(4, 0);
  problem.mission->supply.battery.charge = 0.6;
  problem.mission->supply.battery.resistance_ohm = 0.5;
  problem.most_duration = minutes(3);
  ListPolicy policy = fastest_within();
  BatteryLimit battery({.aim = BatteryAim::progress, .brownout_v = 11.2});
  std::int64_t cap_mw = 0;
  Onlookers onlookers;
  onlookers.observer = [&](Plant&, const Status& status) { cap_mw = status.cap_mw; };
  const SimulationResult result = simulate(problem, policy, battery, onlookers);
  ASSERT_EQ(cap_mw, kLowestModeMw);
  EXPECT_GT(result.mission->samples, 0);
  EXPECT_EQ(result.energy.over_cap_s, 0);
  EXPECT_EQ(result.energy.over_cap_j, 0);
}

TEST_F(MissionTest, TheWorkloadsWaitAtTheReserve) {
  SimulationProblem problem = mission_of(1, 0);
  problem.mission->supply.battery.charge = 0.3;
  problem.mission->supply.charger = {{minutes(2), 30}};
  ListPolicy policy = fastest_within();
  BatteryLimit battery({.aim = BatteryAim::progress});
  Phase uncharged = Phase::waiting;
  std::int64_t samples_paused = 0;
  Onlookers onlookers;
  onlookers.observer = [&](Plant& plant, const Status& status) {
    if (status.time < Time{} + minutes(2)) uncharged = status.phase;
    if (status.phase == Phase::paused) samples_paused += plant.workloads().front().runs() ? 1 : 0;
  };
  const SimulationResult result = simulate(problem, policy, battery, onlookers);
  EXPECT_EQ(uncharged, Phase::paused);
  EXPECT_LT(samples_paused, 20);  // ticks until the minibatches under way had ended
  EXPECT_EQ(result.ending, Ending::unsettled);
  EXPECT_GE(result.mission->pauses, 1U);
  EXPECT_GT(result.mission->energy_wh, 0.9);    // charged again
  EXPECT_GT(result.mission->samples, 100'000);  // and trained on
}

}  // namespace
}  // namespace gearshift
