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

Reading capacity(double wh, int second) {
  return {.quantity = Quantity::battery_capacity,
          .state = ReadingState::ok,
          .value = static_cast<std::int64_t>(wh * 3.6e6),
          .taken = at(second)};
}

BatteryGauge gauge_at(double wh) {
  BatteryGauge gauge(seconds(30));
  gauge.set_most_w(36);  // 0.01 Wh a second
  gauge.read(capacity(10, 0));
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

// A gauge that publishes seldom under a load that is larger than the battery is thought to bear.
TEST(BatteryGauge, BelievesBadNewsThatGetsWorse) {
  BatteryGauge gauge = gauge_at(5);
  gauge.read(energy(4.5, 15));
  gauge.read(energy(4, 30));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(30)), 5);
  gauge.read(energy(3.5, 45));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(45)), 3.5);
}

TEST(BatteryGauge, DoesNotBelieveBadNewsThatWasTakenBackMeanwhile) {
  BatteryGauge gauge = gauge_at(5);
  gauge.read(energy(4, 15));
  gauge.read(energy(5, 29));
  gauge.read(energy(3.5, 30));
  gauge.read(energy(3, 45));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(45)), 5);
  gauge.read(energy(6, 50));  // which is good news
  gauge.read(energy(2.5, 60));
  EXPECT_GT(gauge.energy_wh(at(60)), 4.5);
}

TEST(BatteryGauge, BelievesGoodNewsOnlyAfterTenTimesAsLong) {
  BatteryGauge gauge = gauge_at(2);
  for (int second = 1; second <= 300; ++second) gauge.read(energy(9, second));
  EXPECT_LT(gauge.energy_wh(at(300)), 2);
  gauge.read(energy(9, 301));
  EXPECT_DOUBLE_EQ(gauge.energy_wh(at(301)), 9);
}

TEST(BatteryGauge, BelievesALargerCapacityOnceNothingElseWasReadForAsLongAsALateEnergy) {
  BatteryGauge gauge = gauge_at(5);
  gauge.read(capacity(20, 1));
  gauge.read(capacity(10, 2));
  for (int second = 3; second <= 32; ++second) {
    gauge.read(capacity(second % 2 == 0 ? 30 : 20, second));
    EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 10) << second;
  }
  gauge.read(capacity(30, 33));
  EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 20) << "so much all of them say";
  gauge.read(capacity(20.3, 34));
  EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 20.3) << "a gauge's step";
}

TEST(BatteryGauge, BelievesASmallerCapacityOnlyAfterTenTimesAsLong) {
  BatteryGauge gauge = gauge_at(5);
  for (int second = 1; second <= 300; ++second) {
    gauge.read(capacity(second % 2 == 0 ? 6 : 9.9, second));
    EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 10) << second;
  }
  gauge.read(capacity(6, 301));
  EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 9.9) << "the largest of them";
  gauge.read(capacity(6, 302));
  gauge.read(capacity(6, 610));
  EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 9.9) << "nobody read it between";
}

TEST(BatteryGauge, NeverBelievesACapacityThatWhatIsLeftDoesNotGoInto) {
  BatteryGauge gauge = gauge_at(5);
  for (int second = 1; second <= 600; ++second) gauge.read(capacity(4, second));
  EXPECT_DOUBLE_EQ(gauge.capacity_wh(0), 10);
}

TEST(BatteryGauge, IsAwaitedOnceAfterAGapWhereItWasReadBefore) {
  BatteryGauge gauge = gauge_at(5);
  gauge.look(at(1));
  gauge.look(at(1000));
  EXPECT_TRUE(gauge.awaited(at(1000)));
  EXPECT_TRUE(gauge.awaited(at(1009)));
  gauge.look(at(1009));
  EXPECT_FALSE(gauge.awaited(at(1010))) << "the second gap is of a gauge that was late already";
  gauge.read(energy(5, 1010));
  gauge.look(at(1010));
  gauge.look(at(1050));
  EXPECT_TRUE(gauge.awaited(at(1050)));
  gauge.read(energy(5, 1051));
  EXPECT_FALSE(gauge.awaited(at(1051)));
}

TEST(BatteryGauge, ComplainsOnlyWhileItIsLate) {
  EXPECT_EQ(BatteryGauge(seconds(30)).complaint(), "the battery's energy was never read");
  BatteryGauge gauge = gauge_at(5);
  gauge.look(at(30));
  EXPECT_EQ(gauge.complaint(), "");
  gauge.look(at(60));
  EXPECT_EQ(gauge.complaint(), "the gauge was last read 60 s ago: 4.40 Wh are surely left");
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
