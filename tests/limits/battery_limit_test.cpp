#include "limits/battery_limit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kCapacityWh = 10;

Setting setting(std::int64_t value) {
  Setting made;
  made.mode.count = 1;
  made.mode.values[0] = value;
  made.batch_size[index(Kind::train)] = 16;
  return made;
}

// 10 W and 100 samples a second, 20 W and 300, 30 W and 390.
WorkPrediction prediction(const Workload&) {
  return {.front = {{setting(1), {10, 100}}, {setting(2), {20, 300}}, {setting(3), {30, 390}}},
          .of = {}};
}

class Limited {
 public:
  explicit Limited(const BatteryLimitOptions& options, bool saves = false,
                   PredictWork predict = prediction, Kind kind = Kind::train)
      : limit(options, std::move(predict)) {
    attach(1, kind, saves);
  }

  void attach(WorkloadHandle handle, Kind kind, bool saves = false) {
    Event attached;
    attached.type = EventType::attached;
    attached.workload.handle = handle;
    attached.workload.kind = kind;
    attached.workload.managed = true;
    attached.workload.samples_per_epoch = samples_per_epoch;
    attached.workload.saves = saves;
    attached.workload.name = BoundedText<64>("resnet18");
    limit.consume(attached);
  }
  void detach(WorkloadHandle handle) {
    Event detached;
    detached.type = EventType::detached;
    detached.handle = handle;
    limit.consume(detached);
  }

  void read(Quantity quantity, double thousands) {
    limit.read({.quantity = quantity,
                .state = ReadingState::ok,
                .value = static_cast<std::int64_t>(1000 * thousands),
                .taken = now});
  }
  void battery(double energy_wh, std::optional<double> voltage_v = 12) {
    read(Quantity::battery_capacity, 3600 * capacity_wh);
    read(Quantity::battery_energy, 3600 * energy_wh);
    if (voltage_v) read(Quantity::battery_voltage, *voltage_v);
  }
  std::optional<std::int64_t> cap() { return limit.power_mw(now); }
  void train(std::int32_t samples, WorkloadHandle handle = 1) {
    Event event;
    event.type = EventType::minibatch;
    event.minibatch.workload = handle;
    event.minibatch.batch_size = samples;
    limit.consume(event);
  }

  std::int64_t samples_per_epoch = 1000;
  double capacity_wh = kCapacityWh;
  BatteryLimit limit;
  Time now = Time{} + seconds(100);
};

TEST(BatteryLimit, HoldsTheLowestModeWhileNoEnergyIsKnown) {
  Limited run({.aim = BatteryAim::progress});
  EXPECT_EQ(run.cap(), 10'500);
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

// Turns go no lower than what answers requests, and spend and do as much as those that did.
TEST(BatteryLimit, TakesNoTurnsBelowWhatAServerNeeds) {
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
  EXPECT_EQ(run.cap(), 10'500);
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
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.planned_mw = 21'000, .ends_soon = true}));
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
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.power_mw = kNoPowerMw, .ends_soon = true}));
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

TEST(BatteryLimit, OnlyItsPlanGivesWayToAServer) {
  Limited run({.aim = BatteryAim::progress, .brownout_v = 10});
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.power_mw = 10'500}));  // nothing is known
  run.battery(10, 11);
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.planned_mw = 21'000}));
  run.battery(10, 9.9);
  EXPECT_EQ(run.limit.limit(run.now), (Limit{.power_mw = 10'500}));  // brown-out
}

TEST(BatteryLimit, WaitsAtTheReserveThatAMissingGaugeCannotRuleOut) {
  Limited run({.aim = BatteryAim::progress, .most_w = 36, .stale_after = seconds(30)});
  run.battery(3);
  EXPECT_EQ(run.cap(), 21'000);
  run.now += seconds(99);
  EXPECT_EQ(run.cap(), 21'000);
  run.now += seconds(2);
  EXPECT_EQ(run.cap(), kNoPowerMw);
}

TEST(BatteryLimit, HoldsTheLowestModeInTheTickOfABrownOutAndStaysBelowThatPower) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(10, 11);
  run.read(Quantity::power, 30);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.battery(10, 9.9);
  EXPECT_EQ(run.cap(), 10'500);
  EXPECT_EQ(run.limit.brown_outs(), 1U);
  run.now += seconds(5);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 10'500);
  run.now += seconds(6);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 25'500);
  EXPECT_EQ(run.limit.brown_outs(), 1U);
}

TEST(BatteryLimit, HoldsTheLowestModeWhileNobodyReadsTheVoltageThatMayHaveSagged) {
  Limited run({.aim = BatteryAim::finish, .epochs = 100, .brownout_v = 10});
  run.battery(10, std::nullopt);
  EXPECT_EQ(run.cap(), 10'500) << "it was never read";
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
  EXPECT_EQ(run.cap(), 10'500);
  EXPECT_EQ(run.limit.state(), BatteryState::brown_out);
  EXPECT_NE(run.limit.describe().find("is not read"), std::string::npos);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 10'500) << "for 10 s";
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
  EXPECT_EQ(run.cap(), 10'500);
  for (int tick = 0; tick < 3; ++tick) {
    run.now += seconds(1);
    run.battery(10, 9.9);
    EXPECT_EQ(run.cap(), 10'500);
  }
  EXPECT_EQ(run.limit.brown_outs(), 1U);
  run.now += seconds(11);
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
  EXPECT_EQ(run.cap(), 10'500);
  EXPECT_EQ(run.limit.state(), BatteryState::done);
}

}  // namespace
}  // namespace gearshift
