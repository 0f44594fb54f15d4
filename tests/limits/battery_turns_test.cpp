// When a plan's higher turn begins, and how long it lasts.
#include <gtest/gtest.h>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::Limited;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// So many epochs that 30 W are planned for that share of the time, and 20 W for the rest.
BatteryLimitOptions epochs_at(std::uint32_t epochs) {
  return {.aim = BatteryAim::finish, .epochs = epochs, .brownout_v = 10, .replan = seconds(1000)};
}

// How long of a minute the higher power is let.
Duration higher_of_a_minute(Limited& run) {
  Duration higher{};
  for (int i = 0; i < 600; ++i) {
    run.battery(10, 11);
    if (!run.cap()) higher += milliseconds(100);
    run.now += milliseconds(100);
  }
  return higher;
}

TEST(BatteryTurns, AreNotTakenForAShareOfAFewSeconds) {
  Limited rarely(epochs_at(397));
  EXPECT_EQ(higher_of_a_minute(rarely), Duration{});
  EXPECT_NEAR(rarely.limit.plan().high_share, 0.03, 0.01);
  Limited nearly_always(epochs_at(347));
  EXPECT_EQ(higher_of_a_minute(nearly_always), minutes(1));
  EXPECT_NEAR(nearly_always.limit.plan().high_share, 0.97, 0.01);
  Limited now_and_then(epochs_at(390));
  EXPECT_GT(higher_of_a_minute(now_and_then), seconds(5));
  EXPECT_NEAR(now_and_then.limit.plan().high_share, 0.12, 0.02);
}

TEST(BatteryTurns, BeginAnewWithTheHigherOneWhenThePlanCountsAgain) {
  Limited run(epochs_at(390));
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), std::nullopt);
  run.now += seconds(15);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), 21'000);
  run.battery(10, 9.9);
  EXPECT_EQ(run.cap(), kLowestModeMw);
  run.now += seconds(11);
  run.battery(10, 11);
  EXPECT_EQ(run.cap(), std::nullopt) << "26 s after the turns began";
}

// 15 W, by turns of 20 W and 10 W: of the last 20 s the higher may have no 30.
TEST(BatteryTurns, OfALastCycleThatIsCutShortAreShorter) {
  Limited run({.aim = BatteryAim::serve, .until = seconds(80)});
  double energy_wh = 2.4;  // 15 W for 80 s and what is spared
  Duration higher{};
  while (run.now < Time{} + seconds(180)) {
    run.battery(energy_wh);
    const auto cap = run.cap();
    const double board_w = cap == 21'000 ? 20 : 10;
    if (board_w > 10) higher += milliseconds(100);
    run.read(Quantity::power, board_w);
    run.now += milliseconds(100);
    energy_wh -= board_w / 36'000;
  }
  EXPECT_GT(energy_wh, 2.05);
  EXPECT_GT(higher, seconds(20));
}

// All that is left in no time would be the fastest setting until the reserve.
TEST(BatteryTurns, EndWithTheTimeToServeAndWhatIsLeftIsSpentWithCare) {
  const std::vector<ForecastStep> forecasts[] = {{}, {{Duration{}, 5}}};
  for (const std::vector<ForecastStep>& forecast : forecasts) {
    Limited run(
        {.aim = BatteryAim::serve, .until = minutes(10), .pause_w = 2, .forecast = forecast});
    run.battery(9);
    EXPECT_EQ(run.cap(), std::nullopt) << "7 Wh in ten minutes";
    run.now += minutes(10);
    run.battery(9);
    EXPECT_EQ(run.cap(), std::nullopt);
    EXPECT_EQ(run.limit.aim(), BatteryAim::serve) << "until then";
    run.now += milliseconds(100);
    EXPECT_EQ(run.cap(), 21'000) << "in the same tick";
    EXPECT_EQ(run.limit.aim(), BatteryAim::progress);
    EXPECT_TRUE(run.limit.describe().starts_with("planned: 20.0 W for ")) << run.limit.describe();
    EXPECT_TRUE(run.limit.describe().ends_with("s; as progress, because its time is over"))
        << run.limit.describe();
    run.now += minutes(60);
    run.battery(9);
    EXPECT_EQ(run.cap(), 21'000);
  }
}

}  // namespace
}  // namespace gearshift
