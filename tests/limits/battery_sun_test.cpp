// A battery's limit that plans over what the sun will charge.
#include <gtest/gtest.h>

#include "limits/battery_limit.h"
#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::hours;
using std::chrono::seconds;

TEST(BatteryUnderTheSun, WaitsForTheSunUnlessTheBatteryIsEmptyBefore) {
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

// What is left after two hours at the planned power, of 10 Wh and 1 W from the second hour on.
double left_wh(bool saves) {
  Limited run({.aim = BatteryAim::serve,
               .until = hours(2),
               .checkpoint_share = 0.2,
               .pause_w = 2,
               .forecast = {{Duration{}, 0}, {hours(1), 1}},
               .confidence = 0.5});
  double energy_wh = 10;
  constexpr Duration kStep = seconds(10);
  for (Duration since{}; since < hours(2); since += kStep) {
    // Came once the plan had been made.
    if (saves && since == seconds(60)) run.attach(2, Kind::infer, /*saves=*/true);
    run.battery(energy_wh);
    run.read(Quantity::power, run.limit.plan().mean_power_w);
    run.cap();
    const double charged_w = since < hours(1) ? 0 : 1;
    energy_wh -= (run.limit.plan().mean_power_w - charged_w) * gearshift::seconds(kStep) / 3600;
    run.now += kStep;
  }
  return energy_wh;
}

TEST(BatteryUnderTheSun, SoMuchIsLeftThatNoWorkNeedBeSaved) {
  EXPECT_NEAR(left_wh(false), 2, 0.3) << "the reserve";
  EXPECT_NEAR(left_wh(true), 4, 0.3) << "and a fifth of 10 Wh";
}

TEST(BatteryUnderTheSun, CountsWhatOthersDrawInAPlanOverTheSun) {
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

}  // namespace
}  // namespace gearshift
