// A board in a hot housing: its own throttle keeps it from harm, and a thermal limit from being
// throttled, which does more work.
#include "simulator/enclosure.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "limits/operator_limit.h"
#include "limits/thermal_limit.h"
#include "simulator/simulation.h"
#include "tests/fakes/fake_world.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using fakes::hold;
using fakes::ListPolicy;
using std::chrono::minutes;

TEST(Enclosure, WarmsUpToItsSurroundingsAndItsPower) {
  Enclosure enclosure({.ambient_c = 40, .c_per_w = 0.5, .time_s = 60});
  enclosure.advance(60, 40);
  EXPECT_NEAR(enclosure.temperature_c(), 40 + 20 * (1 - std::exp(-1.0)), 1e-9);
  enclosure.advance(6000, 40);
  EXPECT_NEAR(enclosure.temperature_c(), 60, 1e-9);
  EXPECT_EQ(enclosure.next_switch_s(40), std::nullopt);
}

TEST(Enclosure, SlowsFromItsTripOnUntilItIsWellBelow) {
  Enclosure enclosure(
      {.ambient_c = 40, .c_per_w = 1, .time_s = 60, .trip_c = 80, .hysteresis_c = 5});
  const double hot_s = *enclosure.next_switch_s(60);
  enclosure.advance(hot_s - 0.01, 60);
  EXPECT_FALSE(enclosure.slows());
  enclosure.advance(0.01, 60);
  EXPECT_TRUE(enclosure.slows());
  const double cold_s = *enclosure.next_switch_s(20);
  enclosure.advance(cold_s, 20);
  EXPECT_FALSE(enclosure.slows());
  EXPECT_NEAR(enclosure.temperature_c(), 75, 1e-6);
  EXPECT_NEAR(enclosure.slowed_s(), cold_s, 1e-9);
}

constexpr std::int32_t kBatchSize = 16;

// An AGX Orin in 45 C of air with half of its cooling, whose clocks are halved at 85 C.
class HotBoard : public testing::Test {
 protected:
  SimulationResult run(LimitSource& limit) {
    SimulationProblem problem;
    problem.board = board_.id;
    problem.knobs = knobs_;
    problem.tasks = {{.name = "resnet18",
                      .kind = Kind::train,
                      .batch_sizes = {kBatchSize},
                      .batch_size = kBatchSize,
                      .costs = &costs_}};
    problem.enclosure = EnclosureSpec{.ambient_c = 45, .c_per_w = 1.1, .time_s = 60, .trip_c = 85};
    problem.least_duration = problem.most_duration = minutes(30);
    ListPolicy policy([this](const PolicyContext& context, const std::vector<Observation>&) {
      return hold(fastest(context), kBatchSize);
    });
    return simulate(problem, policy, limit);
  }
  // The fastest mode whose true power is within the cap: what a search would come to.
  PowerMode fastest(const PolicyContext& context) const {
    PowerMode best = context.safe;
    double least_ms = costs_.cost(best, kBatchSize)->minibatch_ms;
    for (const PowerMode& mode : context.modes) {
      const TrueCost cost = *costs_.cost(mode, kBatchSize);
      const bool fits = !context.goal.power_mw ||
                        1000 * cost.power_w <= static_cast<double>(*context.goal.power_mw);
      if (!fits || cost.minibatch_ms >= least_ms) continue;
      best = mode;
      least_ms = cost.minibatch_ms;
    }
    return best;
  }

  const BoardDescription& board_ = built_in_board("jetson-agx-orin");
  const KnobSpace knobs_ = board_.knob_space();
  const ModelCosts costs_{board_, knobs_, board_.find_workload("resnet18", Kind::train)->second};
};

TEST_F(HotBoard, IsNeverThrottledUnderAThermalLimitAndDoesMoreWork) {
  OperatorLimit none(std::nullopt);
  const SimulationResult throttled = run(none);
  ThermalLimit thermal({.zones = {{0, 82}}});
  const SimulationResult capped = run(thermal);
  for (const auto& [name, result] : {std::pair{"throttled", &throttled}, {"capped", &capped}}) {
    std::printf("  %s: %lld samples, hottest %.1f C, slowed for %.0f s, %.1f W\n", name,
                static_cast<long long>(result->heat->samples), result->heat->hottest_c,
                result->heat->slowed_s,
                result->energy.energy_j / gearshift::seconds(result->duration));
  }
  EXPECT_GT(throttled.heat->slowed_s, 60);
  EXPECT_EQ(capped.heat->slowed_s, 0);
  EXPECT_LT(capped.heat->hottest_c, 85);
  EXPECT_GT(capped.heat->samples, throttled.heat->samples);
}

}  // namespace
}  // namespace gearshift
