// What a battery's limit does about a voltage that sagged, in its state and after it.
#include <gtest/gtest.h>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Sags at 30 W of the board with so much in the battery, and recovers.
void sag(Limited& run, double energy_wh) {
  run.read(Quantity::power, 30);
  run.battery(energy_wh, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.read(Quantity::power, 10);
  run.battery(energy_wh, 11);
}

// Slowly enough to be believed.
void charge(Limited& run, double from_wh, double to_wh) {
  for (double energy_wh = from_wh; energy_wh <= to_wh; energy_wh += 0.1) {
    run.now += minutes(1);
    run.battery(energy_wh, 11);
    run.cap();
  }
}

TEST(BrownOut, ItsCeilingRisesWithTheChargeAndComesBackWhereItSagsAgain) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), std::nullopt);
  sag(run, 5);
  EXPECT_EQ(run.cap(), 25'500);
  charge(run, 5, 5.45);
  EXPECT_EQ(run.cap(), 25'500) << "not by 5 % of 10 Wh yet";
  charge(run, 5.45, 5.6);
  EXPECT_EQ(run.cap(), 30'000);
  charge(run, 5.6, 9);
  EXPECT_GT(run.cap(), 75'000);
  sag(run, 9);
  EXPECT_EQ(run.cap(), 25'500);
  EXPECT_EQ(run.limit.brown_outs(), 2U);
}

// What was measured may be the fastest of all.
TEST(BrownOut, HoldsTheLowestModeThatThereIsNotTheLowestThatIsKnown) {
  Limited run({.aim = BatteryAim::progress, .brownout_v = 10}, false, {});
  Observation measured;
  measured.setting = fakes::setting(2);
  measured.power_mean_mw = 20'000;
  measured.cost[index(Kind::train)] = {.minibatch_mean = milliseconds(53), .minibatches = 10};
  run.limit.learn(measured);
  EXPECT_EQ(run.cap(), kLowestModeMw) << "nothing is known of the battery";
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.read(Quantity::power, 20);
  run.battery(5, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.read(Quantity::power, 4);
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), 17'000) << "where nothing is known to fit";
}

TEST(BrownOut, ItsCeilingLeavesWhatTheVoltageCameBackAt) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(5, 11);
  run.cap();
  run.read(Quantity::power, 11);
  run.battery(5, 9.9);
  run.cap();
  run.now += seconds(11);
  run.read(Quantity::power, 10);
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), 10'300);
}

// A ceiling of nothing would stop the work for good.
TEST(BrownOut, WhereNoPowerWasReadItTeachesNoCeiling) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(5, 11);
  run.cap();
  run.battery(5, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), std::nullopt);
}

TEST(BrownOut, WhatWasDrawnLongBeforeTeachesNoCeiling) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(5, 11);
  run.read(Quantity::power, 40);
  run.cap();
  run.now += seconds(10) + milliseconds(1);
  run.battery(5, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), std::nullopt) << "40 W are too old for the sag";
  run.read(Quantity::power, 40);
  run.now += seconds(10);
  run.battery(5, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.battery(5, 11);
  EXPECT_EQ(run.cap(), kLowestModeMw) << "and for what it came back at: that is not read";
  run.read(Quantity::power, 4);
  EXPECT_EQ(run.cap(), 34'000);
}

TEST(BrownOut, WhoWaitsByThePlanWaitsInItToo) {
  // 8 Wh for 2 hours are 4 W; 2 W are drawn while nothing works.
  Limited run({.aim = BatteryAim::serve, .until = hours(2), .brownout_v = 10, .pause_w = 2});
  run.battery(10, 11);
  run.cap();
  Duration paused{};
  for (int i = 0; i < 600; ++i) {
    run.battery(10, 9.9);
    const Limit limit = run.limit.limit(run.now);
    EXPECT_EQ(run.limit.state(), BatteryState::brown_out);
    EXPECT_EQ(limit.power_mw, kLowestModeMw);
    EXPECT_TRUE(!limit.planned_mw || limit.planned_mw == kNoPowerMw);
    if (run.cap() == kNoPowerMw) paused += milliseconds(100);
    run.now += milliseconds(100);
  }
  EXPECT_NEAR(gearshift::seconds(paused), 60 * (16.0 / 18), 1.5);
}

}  // namespace
}  // namespace gearshift
