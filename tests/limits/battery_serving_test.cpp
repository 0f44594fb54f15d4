// A battery's plan beside a server that must answer in time.
#include <gtest/gtest.h>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::seconds;

TEST(BatteryServing, OnlyItsPlanGivesWayToAServer) {
  Limited run({.aim = BatteryAim::progress, .brownout_v = 10});
  EXPECT_EQ(run.limit.limit(run.now),
            (Limit{.power_mw = kLowestModeMw, .moves = true}));  // nothing known
  run.battery(10, 11);
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.planned_mw = 21'000, .moves = true}));
  run.battery(10, 9.9);
  EXPECT_EQ(run.limit.limit(run.now),
            (Limit{.power_mw = kLowestModeMw, .moves = true}));  // brown-out
}

// Turns go no lower than what answers requests, and spend and do as much as those that did.
TEST(BatteryServing, TakesNoTurnsBelowWhatAServerNeeds) {
  Limited run({.aim = BatteryAim::finish, .epochs = 390});
  run.battery(10);
  run.cap();
  const BatteryPlan before = run.limit.plan();
  ASSERT_EQ(before.low.power_w, 20);
  ASSERT_EQ(before.high.power_w, 30);
  const auto plan_above = [&](std::int64_t power_mw) {
    run.limit.serve_above(power_mw);
    run.now += seconds(5);
    run.battery(10);
    run.cap();
    return run.limit.plan();
  };
  const double mean_w = before.mean_power_w;
  ASSERT_GT(mean_w, 21);
  const BatteryPlan above = plan_above(21'000);
  EXPECT_EQ(above.low.power_w, 21);
  EXPECT_EQ(above.high.power_w, 30);
  EXPECT_NEAR(above.low.power_w + above.high_share * 9, mean_w, 1e-9);
  EXPECT_NEAR(above.low.samples_per_s +
                  above.high_share * (above.high.samples_per_s - above.low.samples_per_s),
              before.low.samples_per_s +
                  before.high_share * (before.high.samples_per_s - before.low.samples_per_s),
              1e-9);
  const BatteryPlan steady = plan_above(29'000);
  EXPECT_EQ(steady.low, steady.high);
  EXPECT_NEAR(steady.low.power_w, mean_w, 1e-9);
  EXPECT_NEAR(static_cast<double>(*run.cap()), 1000 * mean_w, 1100) << "a cap a little above it";
  EXPECT_EQ(plan_above(0).low, before.low);
}

// A pause of the plan would be one of the server too.
TEST(BatteryServing, PausesNobodyWhileRequestsAreAnswered) {
  Limited run({.aim = BatteryAim::serve, .until = std::chrono::hours(2), .pause_w = 2});
  const auto cap_above = [&](std::int64_t power_mw) {
    run.limit.serve_above(power_mw);
    run.now += seconds(60);
    run.battery(10);
    return run.cap();
  };
  cap_above(0);
  EXPECT_EQ(run.limit.plan().low.power_w, 2);
  cap_above(12'000);
  // 10 W, the lowest mode, do not last for two hours: nothing lasts longer.
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::energy);
  EXPECT_EQ(run.limit.plan().mean_power_w, 10);
  EXPECT_EQ(cap_above(12'000), 10'500);
  cap_above(0);
  EXPECT_EQ(run.limit.plan().low.power_w, 2);
}

}  // namespace
}  // namespace gearshift
