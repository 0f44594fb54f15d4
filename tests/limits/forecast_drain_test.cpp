#include "limits/forecast_drain.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

constexpr ForecastBattery kDrainedBattery{.capacity_wh = 50, .charge_efficiency = 0.95};
constexpr double kDeviation = 0.15;  // 75 % of a forecast surely come, and no more than 125 %

// A window in which the board drew 4 W and others `other_w`, and `sun_w` came.
DrainWindow window(double other_w, double sun_w, double left_wh = 25) {
  const double flow_w = 4 + other_w - sun_w;
  return {.drained_w = flow_w < 0 ? kDrainedBattery.charge_efficiency * flow_w : flow_w,
          .board_w = 4,
          .most_wh = left_wh};
}

TEST(ForecastDrain, IsWhatWasMeasuredInTheDark) {
  ForecastDrain drain(kDeviation);
  EXPECT_EQ(drain.other_w(), 0);
  drain.add(window(8, 0), 0, kDrainedBattery);
  EXPECT_NEAR(drain.other_w(), 8, 1e-9);
  drain.add(window(30, 0), 0, kDrainedBattery);
  EXPECT_NEAR(drain.other_w(), 30, 1e-9) << "more, at once";
  drain.add(window(8, 0), 0, kDrainedBattery);
  EXPECT_NEAR(drain.other_w(), 19, 1e-9) << "less, by half";
}

TEST(ForecastDrain, CountsTheSunNotTwice) {
  for (const double share : {0.76, 1.0, 1.24}) {
    ForecastDrain drain(kDeviation);
    for (const double forecast_w : {0.0, 40.0, 80.0, 20.0, 0.0}) {
      drain.add(window(0, share * forecast_w), forecast_w, kDrainedBattery);
      EXPECT_NEAR(drain.other_w(), 0, 1e-9) << share << " of " << forecast_w;
    }
    drain.add(window(8, 0), 0, kDrainedBattery);
    drain.add(window(8, share * 60), 60, kDrainedBattery);
    EXPECT_NEAR(drain.other_w(), 8, 1e-9) << "what the night told holds in the day";
  }
}

TEST(ForecastDrain, SeesByDayWhatNoSunExplains) {
  ForecastDrain drain(kDeviation);
  drain.add(window(30, 40), 40, kDrainedBattery);
  EXPECT_NEAR(drain.other_w(), 30 - 0.247 * 40, 0.05);
  drain.add(window(0, 40), 40, kDrainedBattery);
  EXPECT_LT(drain.other_w(), 30 - 0.247 * 40);
}

TEST(ForecastDrain, AFullBatteryThatTakesNoMoreSaysNothingOfTheSun) {
  ForecastDrain drain(kDeviation);
  const DrainWindow full{.drained_w = 0, .board_w = 4, .most_wh = 50};
  drain.add(full, 80, kDrainedBattery);
  EXPECT_EQ(drain.other_w(), 0);
}

}  // namespace
}  // namespace gearshift
