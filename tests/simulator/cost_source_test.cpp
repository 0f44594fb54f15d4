#include "simulator/cost_source.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "simulator/exhaustive_optimum.h"
#include "tests/fakes/fake_board.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using fakes::mode;

Profile corners() {
  Profile profile(fakes::two_knobs());
  profile.add({mode(1, 300000), 16, 100, 8, {}});
  profile.add({mode(4, 900000), 16, 40, 20, {}});
  profile.add({mode(4, 900000), 32, 70, 22, {}});
  return profile;
}

// Costs the same everywhere.
class Flat : public CostSource {
 public:
  std::optional<TrueCost> cost(const PowerMode& asked, std::int32_t batch_size) const override {
    return passing(asked, batch_size);
  }
  TrueCost passing(const PowerMode&, std::int32_t) const override {
    TrueCost cost;
    cost.minibatch_ms = 1;
    cost.power_w = 2;
    return cost;
  }
  double idle_power_w(const PowerMode&) const override { return 1; }
  RailPower rails(const PowerMode&, std::optional<std::int32_t>) const override { return {}; }
};

TEST(ProfileCosts, GivesTheCellItHas) {
  const Profile profile = corners();
  const TrueCost cost = *ProfileCosts(profile, Missing::refuse).cost(mode(4, 900000), 32);
  EXPECT_EQ(cost.minibatch_ms, 70);
  EXPECT_EQ(cost.power_w, 22);
  EXPECT_EQ(cost.origin, CostOrigin::exact);
}

TEST(ProfileCosts, AMissingCellIsRefusedOrTakenFromTheNearestOrTheModel) {
  const Profile profile = corners();
  const Flat flat;
  const PowerMode asked = mode(3, 900000);
  EXPECT_FALSE(ProfileCosts(profile, Missing::refuse).cost(asked, 16));
  const TrueCost nearest = *ProfileCosts(profile, Missing::nearest).cost(asked, 16);
  EXPECT_EQ(nearest.minibatch_ms, 40);
  EXPECT_EQ(nearest.origin, CostOrigin::nearest);
  const TrueCost filled = *ProfileCosts(profile, Missing::model, &flat).cost(asked, 16);
  EXPECT_EQ(filled.minibatch_ms, 1);
  EXPECT_EQ(filled.origin, CostOrigin::model);
}

TEST(ProfileCosts, TheNearestIsOneOfTheSameBatchSizeHoweverFar) {
  const Profile profile = corners();
  const ProfileCosts costs(profile, Missing::nearest);
  EXPECT_EQ(costs.cost(mode(1, 300000), 32)->minibatch_ms, 70);
  EXPECT_EQ(costs.passing(mode(1, 600000), 16).minibatch_ms, 100);
}

TEST(ProfileCosts, ACellThatWasNotTimedCountsAsNone) {
  Profile profile = corners();
  const PowerMode untimed = mode(3, 900000);
  profile.add({untimed, 16, kNotTimed, 15, 900});
  const Flat flat;
  EXPECT_FALSE(ProfileCosts(profile, Missing::refuse).cost(untimed, 16));
  const ProfileCosts costs(profile, Missing::nearest);
  EXPECT_EQ(costs.cost(untimed, 16)->minibatch_ms, 40);
  EXPECT_EQ(costs.passing(untimed, 16).minibatch_ms, 40);
  EXPECT_EQ(ProfileCosts(profile, Missing::model, &flat).cost(untimed, 16)->minibatch_ms, 1);
}

TEST(ProfileCosts, ATableWithoutTimesIsRefused) {
  Profile profile(fakes::two_knobs());
  profile.workload = "net";
  profile.add({mode(4, 900000), 16, kNotTimed, 15, 900});
  try {
    const ProfileCosts costs(profile, Missing::nearest);
    ADD_FAILURE() << "it was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("net (train): none of its 1 settings"),
              std::string::npos)
        << error.what();
  }
}

TEST(ExhaustiveOptimum, KeepsPowerPaceAndLatency) {
  Goal goal{.objective = Objective::latency, .arrivals_per_s = 100};
  TrueCost cost;
  cost.minibatch_ms = 40;
  cost.power_w = 20;
  EXPECT_FALSE(judged(goal, Kind::infer, 1, cost));  // 10 ms to fill, 40 ms to compute
  EXPECT_DOUBLE_EQ(*judged(goal, Kind::infer, 4, cost), 0.08);
  goal.latency = std::chrono::milliseconds(79);
  EXPECT_FALSE(judged(goal, Kind::infer, 4, cost));
  goal.latency = std::chrono::milliseconds(80);
  goal.power_mw = 20'000;
  EXPECT_TRUE(judged(goal, Kind::infer, 4, cost));
  goal.power_mw = 19'999;
  EXPECT_FALSE(judged(goal, Kind::infer, 4, cost));
}

TEST(Effects, AreSwitchedOnByName) {
  EXPECT_EQ(parse_effects("none").jitter, 0);
  const Effects two = parse_effects("jitter,slow-lag");
  EXPECT_EQ(two.jitter, 0.03);
  EXPECT_EQ(two.lag, LagShape::first_order);
  EXPECT_EQ(two.sensor_noise, 0);
  EXPECT_EQ(two.stall, Duration{});
  EXPECT_EQ(parse_effects("stalls").stall, std::chrono::milliseconds(45));
  EXPECT_EQ(parse_effects("all").lag, LagShape::boxcar);
  for (const char* text : {"", "jitter,", "noise,none", "Jitter"}) {
    EXPECT_THROW(parse_effects(text), std::invalid_argument) << text;
  }
}

TEST(ModelCosts, TheRailsAddUpToTheCost) {
  const BoardDescription& board = built_in_board("jetson-agx-orin");
  const KnobSpace knobs = board.knob_space();
  const ModelCosts costs(board, knobs, board.workloads.at("resnet18"));
  for (const PowerMode& mode : {knobs.lowest(), knobs.highest()}) {
    const RailPower rails = costs.rails(mode, 16);
    EXPECT_NEAR(rails.total_mw(), 1000 * costs.cost(mode, 16)->power_w, 1e-6);
    for (const double mw : rails.mw) EXPECT_GT(mw, 0);
    EXPECT_NEAR(costs.rails(mode, std::nullopt).total_mw(), 1000 * costs.idle_power_w(mode), 1e-6);
  }
}

TEST(ProfileCosts, AllPowerGoesThroughOneRail) {
  const Profile profile = corners();
  const ProfileCosts costs(profile, Missing::refuse);
  EXPECT_DOUBLE_EQ(costs.rails(mode(4, 900000), 32)[Rail::gpu_soc], 22000);
  EXPECT_DOUBLE_EQ(costs.rails(mode(4, 900000), 32).total_mw(), 22000);
  EXPECT_DOUBLE_EQ(costs.rails(mode(4, 900000), std::nullopt).total_mw(),
                   1000 * costs.idle_power_w(mode(4, 900000)));
}

}  // namespace
}  // namespace gearshift
