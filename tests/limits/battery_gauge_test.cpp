#include "limits/battery_gauge.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::seconds;

Time at(int second) { return Time{} + seconds(second); }

Reading energy(double wh, int second, ReadingState state = ReadingState::ok) {
  return {.quantity = Quantity::battery_energy,
          .state = state,
          .value = static_cast<std::int64_t>(wh * 3.6e6),
          .taken = at(second)};
}

BatteryGauge gauge_at(double wh) {
  BatteryGauge gauge(seconds(30));
  gauge.set_most_w(36);  // 0.01 Wh a second
  gauge.read({.quantity = Quantity::battery_capacity,
              .state = ReadingState::ok,
              .value = 36'000'000,
              .taken = at(0)});
  gauge.read(energy(wh, 0));
  return gauge;
}

TEST(BatteryGauge, KnowsNothingBeforeTheFirstReading) {
  const BatteryGauge gauge(seconds(30));
  EXPECT_FALSE(gauge.known());
  EXPECT_TRUE(gauge.late(at(0)));
  EXPECT_EQ(gauge.energy_wh(at(0)), 0);
}

TEST(BatteryGauge, TakesLessTheMostThatCanHaveBeenUsedOnceReadingsAreLate) {
  BatteryGauge gauge = gauge_at(5);
  gauge.read(energy(9, 20, ReadingState::missing));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(30)), 5);
  EXPECT_NEAR(gauge.energy_wh(at(60)), 4.4, 1e-9);
  EXPECT_EQ(gauge.energy_wh(at(6000)), 0);
}

TEST(BatteryGauge, IsNeitherEmptyNorFullAtOnce) {
  BatteryGauge gauge = gauge_at(5);
  gauge.read(energy(0, 1));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(1)), 5);
  gauge.read(energy(10, 2));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(2)), 5);
  gauge.read(energy(13, 3));  // more than a full battery
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(3)), 5);
  gauge.read(energy(4.95, 4));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(4)), 4.95);
}

TEST(BatteryGauge, NeverBelievesThatADeadGaugeIsAnEmptyBattery) {
  BatteryGauge gauge = gauge_at(5);
  for (int second = 1; second <= 100; ++second) gauge.read(energy(0, second));
  EXPECT_NEAR(gauge.energy_wh(at(100)), 4, 1e-9);
}

TEST(BatteryGauge, BelievesBadNewsThatAgreesWithItself) {
  BatteryGauge gauge = gauge_at(5);
  for (int second = 1; second <= 30; ++second) gauge.read(energy(2, second));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(30)), 5);
  gauge.read(energy(2, 31));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(31)), 2);
}

TEST(BatteryGauge, BelievesGoodNewsOnlyAfterTenTimesAsLong) {
  BatteryGauge gauge = gauge_at(2);
  for (int second = 1; second <= 300; ++second) gauge.read(energy(9, second));
  EXPECT_LT(gauge.energy_wh(at(300)), 2);
  gauge.read(energy(9, 301));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(301)), 9);
}

TEST(BatteryGauge, PassesOverAVoltageOfNothing) {
  BatteryGauge gauge = gauge_at(5);
  Reading voltage{.quantity = Quantity::battery_voltage,
                  .state = ReadingState::ok,
                  .value = 11'000,
                  .taken = at(1)};
  gauge.read(voltage);
  voltage.value = 0;
  gauge.read(voltage);
  EXPECT_DOUBLE_EQ(gauge.battery().voltage_v.value(), 11);
}

}  // namespace
}  // namespace gearshift
