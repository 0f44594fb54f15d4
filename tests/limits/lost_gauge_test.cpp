// What a battery's limit does while its gauge says nothing, or what cannot be true.
#include <gtest/gtest.h>

#include "limits/battery_limit.h"
#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LostGauge, AnAbsurdCapacityDoesNotSwitchTheReserveOff) {
  for (const double absurd_wh : {1e-3, 2.5}) {
    Limited run({.aim = BatteryAim::progress});
    run.battery(1.9);
    EXPECT_EQ(run.cap(), kNoPowerMw);
    for (int second = 0; second < 250; ++second) {
      run.capacity_wh = absurd_wh;
      run.now += seconds(1);
      run.battery(1.9);
      ASSERT_EQ(run.cap(), kNoPowerMw) << absurd_wh << " Wh for " << second << " s";
    }
  }
}

TEST(LostGauge, ACapacityThatIsTooLargeForOnceMakesNobodyWait) {
  Limited run({.aim = BatteryAim::progress});
  run.battery(5);
  EXPECT_EQ(run.cap(), 21'000);
  run.capacity_wh = 100;
  run.battery(5);
  EXPECT_EQ(run.cap(), 21'000);
}

TEST(LostGauge, IsToldWithWhatIsSurelyLeft) {
  Limited run({.aim = BatteryAim::progress, .most_w = 36});
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.describe(), "unknown: the battery's energy was never read");
  run.battery(5);
  run.cap();
  EXPECT_EQ(run.limit.describe().find("last read"), std::string::npos) << run.limit.describe();
  for (int second = 0; second < 60; ++second) {
    run.now += seconds(1);
    run.cap();
  }
  EXPECT_TRUE(
      run.limit.describe().ends_with("; the gauge was last read 60 s ago: 4.40 Wh are surely left"))
      << run.limit.describe();
}

// Network UPS Tools answer in a later tick than they are asked in.
TEST(LostGauge, IsAwaitedAfterASuspendBeforeTheReserveCounts) {
  Limited run({.aim = BatteryAim::progress}, true);
  run.battery(2.5);
  EXPECT_EQ(run.cap(), 21'000);
  run.now += hours(1);
  const Limit awaiting = run.limit.limit(run.now);
  EXPECT_EQ(awaiting.power_mw, kLowestModeMw);
  EXPECT_FALSE(awaiting.ends_soon) << "nobody is asked to save";
  EXPECT_EQ(run.limit.state(), BatteryState::unknown);
  run.now += milliseconds(100);
  run.battery(2.4);
  EXPECT_EQ(run.cap(), 21'000);
  EXPECT_EQ(run.limit.state(), BatteryState::planned);
  EXPECT_GT(run.limit.plan().time_s, 0) << "of what was read, and not of an empty battery";
}

TEST(LostGauge, IsTheReserveTenSecondsAfterASuspendWithoutAReading) {
  Limited run({.aim = BatteryAim::progress});
  run.battery(2.3);
  run.cap();
  run.now += hours(1);
  for (int tick = 0; tick < 100; ++tick) {
    ASSERT_EQ(run.cap(), kLowestModeMw) << tick;
    run.now += milliseconds(100);
  }
  EXPECT_EQ(run.cap(), kNoPowerMw);
  run.now += hours(1);
  EXPECT_EQ(run.cap(), kNoPowerMw) << "another gap leaves no reserve";
}

// Draws 22 W of a battery of 100 Wh, with 600 W beside them, for so long; the gauge publishes what
// is left in every `period_s`.
void draw_hard(Limited& run, double& energy_wh, int for_s, int period_s) {
  run.capacity_wh = 100;
  double published_wh = energy_wh;
  for (int second = 0; second < for_s; ++second) {
    if (second % period_s == 0) published_wh = energy_wh;
    run.read(Quantity::power, 22);
    run.battery(published_wh);
    run.cap();
    run.now += seconds(1);
    energy_wh -= 622.0 / 3600;
  }
}

TEST(LostGauge, OneThatPublishesSeldomUnderALargeLoadIsBelieved) {
  for (const int period_s : {1, 5, 15, 20, 30}) {
    Limited run({.aim = BatteryAim::progress});
    double energy_wh = 90;
    draw_hard(run, energy_wh, 435, period_s);  // the reserve is reached after 405 s
    EXPECT_EQ(run.limit.state(), BatteryState::reserve)
        << "of a gauge that publishes every " << period_s << " s";
  }
}

TEST(LostGauge, WhatElseWasMeasuredToFlowCanHaveBeenUsedMeanwhile) {
  Limited run({.aim = BatteryAim::progress});
  double energy_wh = 64.5;
  draw_hard(run, energy_wh, 200, 1);
  EXPECT_NEAR(energy_wh, 30, 0.1);
  run.cap();
  EXPECT_EQ(run.limit.state(), BatteryState::planned);
  run.now += seconds(1);
  for (int second = 0; second < 59; ++second) {
    run.cap();
    run.now += seconds(1);
  }
  EXPECT_EQ(run.cap(), kNoPowerMw) << "600 W go on, and 20 of 100 Wh are the reserve";
}

}  // namespace
}  // namespace gearshift
