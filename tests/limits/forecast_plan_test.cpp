#include "limits/forecast_plan.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// 2 W paused, 5 W and 100 samples a second, 10 W and 220, 20 W and 300.
const PowerHull kHull(std::vector<WorkPoint>{{2, 0}, {5, 100}, {10, 220}, {20, 300}});
constexpr ForecastBattery kPlannedBattery{
    .capacity_wh = 50, .reserve_wh = 10, .charge_efficiency = 1};

// What is left after the plan was followed, minute by minute, and what was done.
struct Followed {
  double energy_wh;
  double least_wh;
  double samples = 0;
};
Followed follow(const ForecastPlan& plan, const std::vector<ForecastStep>& sun, double energy_wh,
                Duration until) {
  Followed followed{energy_wh, energy_wh};
  for (Duration now{}; now < until; now += minutes(1)) {
    const double power_w = plan.power_w(now, followed.energy_wh);
    double sun_w = 0;
    for (const ForecastStep& step : sun) {
      if (step.after <= now) sun_w = step.power_w;
    }
    followed.energy_wh = std::min(50.0, followed.energy_wh + (sun_w - power_w) / 60);
    followed.least_wh = std::min(followed.least_wh, followed.energy_wh);
    followed.samples += 60 * kHull.samples_per_s(power_w);
  }
  return followed;
}

TEST(ForecastPlan, SpendsEvenlyWhereNothingIsCharged) {
  // 40 Wh above the reserve for 8 hours: 5 W all the while.
  const ForecastPlan plan(kHull, {}, 1, kPlannedBattery, hours(8));
  const Followed followed = follow(plan, {}, 50, hours(8));
  EXPECT_NEAR(followed.samples, 8 * 3600 * 100, 0.02 * 8 * 3600 * 100);
  EXPECT_GE(followed.least_wh, 9.9);
  EXPECT_NEAR(followed.energy_wh, 10, 0.5);
}

// Of steps of five minutes the last has two, and each is planned anew within.
TEST(ForecastPlan, SpendsAllUntilAnEndThatIsWithinAStep) {
  const ForecastBattery small{.capacity_wh = 5, .reserve_wh = 1, .charge_efficiency = 1};
  for (const Duration until : {Duration(minutes(7)), Duration(minutes(4)), Duration(minutes(20))}) {
    const ForecastPlan plan(kHull, {}, 1, small, until);
    const Followed followed = follow(plan, {}, 2, until);
    EXPECT_GE(followed.least_wh, 1) << gearshift::seconds(until);
    EXPECT_LE(followed.energy_wh, 1.02) << gearshift::seconds(until);
    EXPECT_EQ(plan.power_w(until, 2), 20) << "behind its end all may be spent";
    EXPECT_EQ(plan.power_w(until, 1), 2);
  }
}

// 2 W are drawn while all wait: in the second half of a step only its own sun counts.
TEST(ForecastPlan, CountsTheSunOfWhatIsLeftOfAStep) {
  const std::vector<ForecastStep> sun = {{Duration{}, 12}, {minutes(3), 0}};
  const ForecastPlan plan(kHull, sun, 1, kPlannedBattery, minutes(5));
  EXPECT_NEAR(plan.least_wh(minutes(3), 15), 15 - 2.0 / 30, 1e-9);
  EXPECT_NEAR(plan.power_w(minutes(3), 10 + 5.0 / 30), 5, 0.3);
  EXPECT_NEAR(plan.power_w(minutes(2), 10), 4, 0.3) << "12 W for one minute of three";
}

TEST(ForecastPlan, MakesRoomForTheSunThatWillCome) {
  // Full at dawn, 20 W from the second hour to the fourth, then dark until the eighth.
  const std::vector<ForecastStep> sun = {{hours(2), 20}, {hours(4), 0}};
  const ForecastPlan plan(kHull, sun, 1, kPlannedBattery, hours(8));
  EXPECT_GE(plan.power_w(Duration{}, 50), 10);
  const Followed followed = follow(plan, sun, 50, hours(8));
  // All of 80 Wh at 10 W, the best mean where nothing is thrown away.
  EXPECT_NEAR(followed.samples, 8 * 3600 * 220, 0.02 * 8 * 3600 * 220);
  EXPECT_GE(followed.least_wh, 9.8);
}

TEST(ForecastPlan, PausesRatherThanBreakTheReserve) {
  const ForecastPlan plan(kHull, {}, 1, kPlannedBattery, hours(8));
  EXPECT_EQ(plan.power_w(Duration{}, 10), 2);
  EXPECT_GT(plan.samples(Duration{}, 50), plan.samples(Duration{}, 40));
}

TEST(ForecastPlan, CountsWhatOthersDraw) {
  ForecastBattery shared = kPlannedBattery;
  shared.other_w = 3;
  const ForecastPlan alone(kHull, {}, 1, kPlannedBattery, hours(8));
  const ForecastPlan beside(kHull, {}, 1, shared, hours(8));
  EXPECT_NEAR(alone.least_wh(Duration{}, 50), 50 - 8 * 2, 1e-9);
  EXPECT_NEAR(beside.least_wh(Duration{}, 50), 50 - 8 * 5, 1e-9);
  EXPECT_NEAR(alone.power_w(Duration{}, 50), 5, 0.3);
  EXPECT_NEAR(beside.power_w(Duration{}, 50), 2, 0.3);
}

TEST(ForecastPlan, TellsTheLeastThatIsLeftWhereAllWait) {
  const std::vector<ForecastStep> sun = {{hours(2), 20}, {hours(4), 0}};
  const ForecastPlan plan(kHull, sun, 1, kPlannedBattery, hours(8));
  EXPECT_NEAR(plan.least_wh(Duration{}, 15), 11, 1e-9);  // at dawn
  EXPECT_NEAR(plan.least_wh(minutes(61), 15), 13 + 1.0 / 30, 1e-9);
  EXPECT_NEAR(plan.least_wh(hours(4), 15), 7, 1e-9);  // at the end
  EXPECT_NEAR(plan.least_wh(Duration{}, 3), -1, 1e-9);
  EXPECT_EQ(plan.least_wh(hours(9), 15), 15);
}

TEST(ForecastPlan, CountsOnLessSunTheSurerItIsToBe) {
  EXPECT_NEAR(surely_forecast(0.5, 0.2), 1, 1e-6);
  EXPECT_NEAR(surely_forecast(0.95, 0.2), 1 - 1.644854 * 0.2, 1e-5);
  EXPECT_EQ(surely_forecast(0.999, 0.5), 0);
  const std::vector<ForecastStep> sun = {{hours(2), 20}, {hours(4), 0}};
  const ForecastPlan bold(kHull, sun, 1, kPlannedBattery, hours(8));
  const ForecastPlan careful(kHull, sun, 0.5, kPlannedBattery, hours(8));
  EXPECT_LT(careful.samples(Duration{}, 30), bold.samples(Duration{}, 30));
}

}  // namespace
}  // namespace gearshift
