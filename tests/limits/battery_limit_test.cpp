#include "limits/battery_limit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::kCapacityWh;
using fakes::Limited;
using fakes::prediction;
using fakes::setting;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(BatteryLimit, HoldsTheLowestModeWhileNoEnergyIsKnown) {
  Limited run({.aim = BatteryAim::progress});
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.state(), BatteryState::unknown);
}

TEST(BatteryLimit, TakesTurnsBetweenThePlansTwoPowers) {
  // 8 Wh above the reserve are 28,800 J: 390 epochs are 1,000 s at 30 W and 1,300 s at 20 W.
  Limited run({.aim = BatteryAim::finish, .epochs = 390, .replan = seconds(1000)});
  run.battery(10);
  EXPECT_EQ(run.cap(), std::nullopt);  // the fastest setting needs no cap
  const BatteryPlan plan = run.limit.plan();
  EXPECT_EQ(plan.low.power_w, 20);
  EXPECT_EQ(plan.high.power_w, 30);
  Duration high{};
  for (int i = 0; i < 600; ++i) {
    if (!run.cap()) high += milliseconds(100);
    run.now += milliseconds(100);
  }
  EXPECT_NEAR(gearshift::seconds(high), 60 * plan.high_share, 0.2);
  EXPECT_GT(plan.high_share, 0.1);
  EXPECT_LT(plan.high_share, 0.9);
}

TEST(BatteryLimit, PlansAnewFromWhatSettingsWereMeasuredToCost) {
  Limited run({.aim = BatteryAim::progress});
  run.battery(10);
  EXPECT_EQ(run.cap(), 21'000);
  Observation measured;
  measured.setting = setting(2);
  measured.power_mean_mw = 28'000;
  measured.cost[index(Kind::train)] = {.minibatch_mean = milliseconds(53), .minibatches = 10};
  run.limit.learn(measured);
  run.battery(10);
  EXPECT_EQ(run.cap(), std::nullopt);  // 13 samples a joule at 30 W, 10.8 at 28 W
}

TEST(BatteryLimit, CountsWhatTheWorkDoneLeaves) {
  Limited run({.aim = BatteryAim::finish, .epochs = 2});
  run.battery(10);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.train(1999);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.train(1);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.state(), BatteryState::done);
}

TEST(BatteryLimit, MakesTheWorkloadsWaitAtTheReserveAndGoOnAboveIt) {
  Limited run({.aim = BatteryAim::progress, .stale_after = seconds(1)});
  run.battery(2.01);
  EXPECT_EQ(run.cap(), 21'000);
  run.battery(2);
  EXPECT_EQ(run.cap(), kNoPowerMw);
  run.battery(2.15);
  EXPECT_EQ(run.cap(), kNoPowerMw);
  run.battery(2.3);
  run.battery(2.45);
  EXPECT_EQ(run.cap(), kNoPowerMw);
  run.battery(2.51);
  EXPECT_EQ(run.cap(), 21'000);
}

TEST(BatteryLimit, SaysAboveTheReserveThatPowerEndsSoonUntilItWasCharged) {
  Limited run({.aim = BatteryAim::progress, .stale_after = seconds(1)}, true);
  run.battery(2.31);
  EXPECT_FALSE(run.limit.limit(run.now).ends_soon);
  run.battery(2.3);  // 3 % of 10 Wh above 2 Wh
  EXPECT_EQ(run.limit.limit(run.now),
            (Limit{.planned_mw = 21'000, .ends_soon = true, .moves = true}));
  EXPECT_EQ(run.limit.state(), BatteryState::low);
  for (const double energy_wh : {2.4, 2.49}) {  // steps that a gauge may take
    run.battery(energy_wh);
    EXPECT_TRUE(run.limit.limit(run.now).ends_soon);
  }
  run.battery(2.51);
  EXPECT_FALSE(run.limit.limit(run.now).ends_soon);
  run.battery(2.35);
  EXPECT_FALSE(run.limit.limit(run.now).ends_soon);
}

TEST(BatteryLimit, SaysSoOnlyAtTheReserveWhereNobodySaves) {
  Limited run({.aim = BatteryAim::progress});
  run.battery(2.1);
  EXPECT_FALSE(run.limit.limit(run.now).ends_soon);
  run.battery(1.99);
  EXPECT_EQ(run.limit.limit(run.now),
            (Limit{.power_mw = kNoPowerMw, .ends_soon = true, .moves = true}));
}

TEST(BatteryLimit, PlansWithTheEnergyAboveWhereWorkIsSaved) {
  const BatteryLimitOptions options{.aim = BatteryAim::finish, .epochs = 390};
  Limited wastes(options);
  Limited saves(options, true);
  for (Limited* run : {&wastes, &saves}) {
    run->battery(10);
    run->cap();
  }
  EXPECT_LT(saves.limit.plan().high_share, wastes.limit.plan().high_share);
}

TEST(BatteryLimit, WaitsAtTheReserveThatAMissingGaugeCannotRuleOut) {
  Limited run({.aim = BatteryAim::progress, .most_w = 36, .stale_after = seconds(30)});
  run.battery(3);
  for (int second = 0; second < 100; ++second) {
    EXPECT_EQ(run.cap(), 21'000) << second;
    run.now += seconds(1);
  }
  run.now += seconds(1);
  EXPECT_EQ(run.cap(), kNoPowerMw);
}

TEST(BatteryLimit, HoldsTheLowestModeInTheTickOfABrownOutAndStaysBelowThatPower) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(10, 11);
  run.read(Quantity::power, 30);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.battery(10, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.brown_outs(), 1U);
  run.now += seconds(5);
  run.battery(10, 11);
  run.read(Quantity::power, 10);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(6);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 25'500);
  EXPECT_EQ(run.limit.brown_outs(), 1U);
}

TEST(BatteryLimit, HoldsTheLowestModeWhileNobodyReadsTheVoltageThatMayHaveSagged) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(10, std::nullopt);
  EXPECT_EQ(run.cap(), kLowestModeMw) << "it was never read";
  EXPECT_EQ(run.limit.describe(), "brown_out: the battery's voltage is not read");
  run.battery(10, 11);
  run.now += seconds(10);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), std::nullopt);
  for (int second = 0; second < 10; ++second) {
    run.now += seconds(1);
    run.battery(10, std::nullopt);
    run.read(Quantity::power, 30);
    EXPECT_EQ(run.cap(), std::nullopt);
  }
  run.now += milliseconds(100);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.state(), BatteryState::brown_out);
  EXPECT_NE(run.limit.describe().find("is not read"), std::string::npos);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), kLowestModeMw) << "for 10 s";
  EXPECT_EQ(run.limit.describe(), "brown_out");
  run.now += seconds(10);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), std::nullopt) << "no power is known that it sags at";
  EXPECT_EQ(run.limit.brown_outs(), 0U);
}

TEST(BatteryLimit, CountsABrownOutThatShowsWhenTheVoltageIsReadAgain) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(10, std::nullopt);
  run.read(Quantity::power, 30);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  for (int tick = 0; tick < 3; ++tick) {
    run.now += seconds(1);
    run.battery(10, 9.9);
    EXPECT_EQ(run.cap(), kLowestModeMw);
  }
  EXPECT_EQ(run.limit.brown_outs(), 1U);
  run.now += seconds(11);
  run.read(Quantity::power, 10);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 25'500) << "85 % of the power that it was seen to sag at";
}

TEST(BatteryLimit, LearnsWhatElseDrawsOnTheBattery) {
  Limited run({.aim = BatteryAim::progress});
  double energy_wh = 10;
  for (int i = 0; i <= 180; ++i) {
    run.battery(energy_wh);
    run.read(Quantity::power, 20);
    run.cap();
    run.now += seconds(1);
    energy_wh -= 60.0 / 3600;  // 40 W beside the board's 20
  }
  EXPECT_EQ(run.limit.plan().mean_power_w, 30);  // with so much beside it, the fastest costs least
  EXPECT_NEAR(run.limit.plan().energy_j / run.limit.plan().time_s, 70, 0.5);
}

TEST(BatteryLimit, PausesWhereAServingPlanGainsByIt) {
  // 8 Wh for 2 hours are 4 W; 2 W are drawn while nothing works.
  Limited run({.aim = BatteryAim::serve, .until = std::chrono::hours(2), .pause_w = 2});
  run.battery(10);
  Duration paused{};
  for (int i = 0; i < 600; ++i) {
    if (run.cap() == kNoPowerMw) paused += milliseconds(100);
    run.now += milliseconds(100);
  }
  EXPECT_NEAR(gearshift::seconds(paused), 60 * (16.0 / 18), 1.5);
}

TEST(BatteryLimit, TrainsWhereWaitingDoesNotLastUntilTheTimeEither) {
  // 8 Wh for 5 hours are 1.6 W.
  Limited run({.aim = BatteryAim::serve, .until = std::chrono::hours(5), .pause_w = 2});
  double energy_wh = 10;
  for (; energy_wh > 2.01; energy_wh -= 20.0 / 360) {
    run.battery(energy_wh);
    run.read(Quantity::power, 20);
    EXPECT_EQ(run.cap(), 21'000) << energy_wh;
    run.now += seconds(10);
  }
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::energy);
}

// Of 2.1 Wh above the reserve 1.9 are planned with, and the rest lasts for the 2 W of a wait.
TEST(BatteryLimit, GivesUpALastingPlanOnlyWhereWhatItSparesIsGoneToo) {
  const auto shortfall = [](double begin_wh, double then_wh) {
    Limited run({.aim = BatteryAim::serve, .until = std::chrono::hours(3), .pause_w = 2});
    run.battery(begin_wh);
    run.cap();
    run.now += std::chrono::hours(2);
    run.battery(then_wh);
    run.cap();
    return run.limit.plan().shortfall;
  };
  EXPECT_EQ(shortfall(9, 4.1), Shortfall::none);
  EXPECT_EQ(shortfall(8, 4.1), Shortfall::energy) << "it never lasted";
  EXPECT_EQ(shortfall(9, 3.9), Shortfall::energy);
}

TEST(BatteryLimit, WaitsForTheSunUnlessTheBatteryIsEmptyBefore) {
  using std::chrono::hours;
  BatteryLimitOptions options{
      .aim = BatteryAim::serve, .until = hours(8), .pause_w = 2, .confidence = 0.5};
  const auto planned = [&](Duration dawn) {
    options.forecast = {{Duration{}, 0}, {dawn, 20}};
    Limited run(options);
    run.battery(10);
    run.cap();
    return run.limit.plan();
  };
  const BatteryPlan kept = planned(hours(3));
  EXPECT_EQ(kept.shortfall, Shortfall::none);
  const BatteryPlan broken = planned(hours(4) + std::chrono::minutes(30));
  EXPECT_EQ(broken.shortfall, Shortfall::energy);
  EXPECT_EQ(broken.mean_power_w, 2) << "what is lacked is taken of the reserve";
  const BatteryPlan empty = planned(hours(6));
  EXPECT_EQ(empty.shortfall, Shortfall::energy);
  EXPECT_EQ(empty.mean_power_w, 20) << "to wait saves nothing";
  options.pause_w = 0;
  const BatteryPlan works = planned(hours(6));
  EXPECT_EQ(works.shortfall, Shortfall::energy);
  EXPECT_EQ(works.mean_power_w, 10) << "what works in the lowest mode does so for longest";
}

TEST(BatteryLimit, CountsWhatOthersDrawInAPlanOverTheSun) {
  using std::chrono::hours;
  Limited run({.aim = BatteryAim::serve,
               .until = hours(2),
               .pause_w = 2,
               .forecast = {{Duration{}, 0}, {hours(1), 1}}});
  double energy_wh = 10;
  for (int i = 0; i <= 61; ++i) {
    run.battery(energy_wh);
    run.read(Quantity::power, 10);
    run.cap();
    if (i == 59) {
      EXPECT_EQ(run.limit.plan().shortfall, Shortfall::none);
    }
    run.now += seconds(1);
    energy_wh -= 14.0 / 3600;  // 4 W beside the board's 10: all that may be spent
  }
  run.now += seconds(5);
  run.battery(energy_wh);
  run.cap();
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::energy);
}

TEST(BatteryLimit, PlansNoPauseBeforeAnythingIsKnownOfTheWork) {
  const BatteryLimitOptions options{
      .aim = BatteryAim::serve, .until = std::chrono::hours(2), .pause_w = 2};
  Limited run(options, false, {});
  run.battery(10);
  EXPECT_EQ(run.cap(), std::nullopt);
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::unknown);
  Observation measured;
  measured.setting = setting(2);
  measured.power_mean_mw = 20'000;
  measured.cost[index(Kind::train)] = {.minibatch_mean = milliseconds(53), .minibatches = 10};
  run.limit.learn(measured);
  run.cap();
  EXPECT_EQ(run.limit.plan().low.power_w, 2);
  EXPECT_EQ(run.limit.plan().high.power_w, 20);
}

TEST(BatteryLimit, CountsNoServersSamplesAsTraining) {
  const BatteryLimitOptions options{.aim = BatteryAim::finish, .epochs = 2};
  Limited run(options, false, prediction, Kind::infer);
  run.train(2000);
  run.battery(10);
  run.cap();
  EXPECT_EQ(run.limit.state(), BatteryState::planned);
  run.attach(2, Kind::train);
  run.train(2000);
  run.cap();
  EXPECT_EQ(run.limit.state(), BatteryState::planned);
  EXPECT_NEAR(run.limit.plan().samples, 2000, 1e-6);
}

TEST(BatteryLimit, PlansForProgressWhereTheTrainerDoesNotTellItsSamples) {
  for (const BatteryAim aim : {BatteryAim::finish, BatteryAim::least_energy}) {
    Limited run({.aim = aim, .epochs = 2, .until = std::chrono::hours(2)});
    run.samples_per_epoch = 0;
    run.attach(2, Kind::train);
    run.battery(10);
    EXPECT_EQ(run.cap(), 21'000) << "as fast as the board goes it does less with the same energy";
    EXPECT_EQ(run.limit.aim(), BatteryAim::progress);
    EXPECT_TRUE(run.limit.describe().ends_with(
        "; as progress, because the trainer does not tell its samples_per_epoch"))
        << run.limit.describe();
    run.samples_per_epoch = 1000;
    run.attach(3, Kind::train);
    run.cap();
    EXPECT_EQ(run.limit.aim(), aim);
    EXPECT_EQ(run.limit.describe().find("as progress"), std::string::npos);
  }
}

TEST(BatteryLimit, PlansForProgressWhereOnlyAServerIsAttached) {
  Limited run({.aim = BatteryAim::finish, .epochs = 2}, false, prediction, Kind::infer);
  run.battery(10);
  EXPECT_EQ(run.cap(), 21'000);
  EXPECT_TRUE(run.limit.describe().ends_with("; as progress, because no trainer is attached"))
      << run.limit.describe();
}

// A percent of 100 Wh is three minutes of 20 W.
TEST(BatteryLimit, AGaugeInPercentLeavesThePlanWhereAnExactOneHasIt) {
  Limited run({.aim = BatteryAim::progress});
  run.capacity_wh = 100;
  double energy_wh = run.capacity_wh;
  for (int second = 0; second < 1800; ++second) {
    run.battery(std::floor(energy_wh));
    run.read(Quantity::power, 20);
    ASSERT_EQ(run.cap(), 21'000) << second;
    run.now += seconds(1);
    energy_wh -= 20.0 / 3600;
  }
  EXPECT_NEAR(run.limit.plan().energy_j / run.limit.plan().time_s, 20, 0.5);
}

TEST(BatteryLimit, LetsAServerTakeThePlaceOfATrainerThatLeaves) {
  std::vector<Kind> asked;
  const auto predict = [&asked](const Workload& workload) {
    asked.push_back(workload.kind);
    return prediction(workload);
  };
  Limited run({.aim = BatteryAim::finish, .epochs = 2}, false, predict);
  run.attach(2, Kind::infer);
  run.train(500);
  run.detach(1);
  run.train(1500, 2);
  run.attach(3, Kind::train);
  EXPECT_EQ(asked, (std::vector<Kind>{Kind::train, Kind::infer, Kind::train}));
  run.battery(10);
  run.cap();
  EXPECT_NEAR(run.limit.plan().samples, 1500, 1e-6) << "the work of one that comes back is counted";
}

TEST(BatteryLimit, StaysDoneWhereAServerIsLeft) {
  Limited run({.aim = BatteryAim::finish, .epochs = 2});
  run.attach(2, Kind::infer);
  run.battery(10);
  run.train(2000);
  run.detach(1);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  EXPECT_EQ(run.limit.state(), BatteryState::done);
}

}  // namespace
}  // namespace gearshift
