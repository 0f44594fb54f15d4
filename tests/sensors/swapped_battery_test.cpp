// What becomes of a battery's size where another one is put in.
#include <gtest/gtest.h>

#include "tests/sensors/power_supply_fixture.h"

namespace gearshift {
namespace {

class SwappedBatteryTest : public PowerSupplyFixture {
 protected:
  void gauge_tells(double energy_wh, double percentage) {
    put("energy_now", std::to_string(static_cast<std::int64_t>(1e6 * energy_wh)));
    put("capacity", std::to_string(static_cast<int>(percentage)));
  }
  static double capacity_of(PowerSupply& sensor, int second) {
    return battery_of(sensor, second).capacity_wh.value_or(0);
  }
};

// What was open of a battery that is taken out stays dead.
TEST_F(SwappedBatteryTest, ABatteryThatWasSwappedIsReadAgain) {
  put("type", "Battery");
  put("energy_now", "7200000");
  put("energy_full", "10000000");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  const auto energy_wh = [&](int second) { return energy_of(*sensor, second); };
  EXPECT_NEAR(energy_wh(1).value_or(0), 7.2, 1e-6);
  tree_.put("/sys/class/power_supply/BAT0/energy_now", "");
  tree_.remove("/sys/class/power_supply/BAT0");
  EXPECT_FALSE(energy_wh(2));
  put("type", "Battery");
  put("energy_now", "8000000");
  put("energy_full", "9000000");
  put("voltage_now", "11400000");
  EXPECT_NEAR(energy_wh(3).value_or(0), 8, 1e-6);
  put("energy_now", "7900000");
  EXPECT_NEAR(energy_wh(4).value_or(0), 7.9, 1e-6);
}

// Drivers may keep their files over a swap. A reading that is wrong once says nothing.
TEST_F(SwappedBatteryTest, ALargerBatteryIsSizedAnewWhereNoFileTellsTheFullEnergy) {
  put("type", "Battery");
  gauge_tells(5, 50);
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  EXPECT_NEAR(battery_of(*sensor, 1).capacity_wh.value_or(0), 10, 1e-6);
  gauge_tells(18, 50);
  EXPECT_FALSE(energy_of(*sensor, 2));
  gauge_tells(5, 50);
  EXPECT_NEAR(energy_of(*sensor, 11).value_or(0), 5, 1e-6);
  for (int second = 12; second < 22; ++second) {
    gauge_tells(18, 90);
    EXPECT_FALSE(energy_of(*sensor, second)) << second;
  }
  gauge_tells(18, 101);
  EXPECT_FALSE(energy_of(*sensor, 22)) << "of no percentage no size";
  gauge_tells(18, 90);
  const Battery larger = battery_of(*sensor, 23);
  EXPECT_NEAR(larger.energy_wh.value_or(0), 18, 1e-6);
  EXPECT_NEAR(larger.capacity_wh.value_or(0), 20, 1e-6);
  gauge_tells(17, 80);
  EXPECT_NEAR(battery_of(*sensor, 24).capacity_wh.value_or(0), 20, 1e-6) << "it was told once";
}

// A size that a file or the user tells is no guess.
TEST_F(SwappedBatteryTest, ASizeThatIsToldStandsAgainstThePercentage) {
  put("type", "Battery");
  put("energy_now", "5000000");
  put("energy_full", "10000000");
  put("capacity", "50");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  put("energy_now", "18000000");
  put("capacity", "90");
  for (const int second : {1, 6, 11, 12, 30}) EXPECT_FALSE(energy_of(*sensor, second)) << second;
  put("energy_full", "0");
  EXPECT_FALSE(energy_of(*sensor, 31));
  EXPECT_NEAR(energy_of(*sensor, 41).value_or(0), 18, 1e-6) << "it is told no more";
}

// A new battery may tell its voltage later than its charge.
TEST_F(SwappedBatteryTest, TheDesignedVoltageOfASwappedOneIsJudgedOnceItsVoltageIsRead) {
  put_charge_gauge();
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  EXPECT_NEAR(energy_of(*sensor, 1).value_or(0), 5.55, 1e-6);
  put("charge_now", "");
  tree_.remove("/sys/class/power_supply/BAT0");
  EXPECT_FALSE(energy_of(*sensor, 2));
  put("type", "Battery");
  put("charge_now", "600000");
  put("charge_full", "1000000");
  put("voltage_min_design", "3700000");
  put("voltage_now", "");
  EXPECT_NEAR(energy_of(*sensor, 3).value_or(0), 2.22, 1e-6);
  put("voltage_now", "12000000");
  EXPECT_NEAR(energy_of(*sensor, 4).value_or(0), 7.2, 1e-6);
}

// It need not hold more than the one before when it comes.
TEST_F(SwappedBatteryTest, ASmallerOrAFlatBatteryIsSizedAnewByItsLeapAlone) {
  struct Case {
    double energy_wh;
    double percentage;
    double capacity_wh;
  };
  for (const Case& other : {Case{3, 60, 5}, Case{4, 80, 5}, Case{5, 25, 20}, Case{10, 50, 20}}) {
    SCOPED_TRACE(other.capacity_wh);
    put("type", "Battery");
    gauge_tells(8, 80);
    const auto sensor = open();
    ASSERT_NE(sensor, nullptr);
    EXPECT_NEAR(capacity_of(*sensor, 1), 10, 1e-6);
    gauge_tells(other.energy_wh, other.percentage);
    EXPECT_NEAR(capacity_of(*sensor, 2), 10, 1e-6) << "wrong once says nothing";
    gauge_tells(7.9, 79);
    EXPECT_NEAR(capacity_of(*sensor, 3), 10, 1e-6);
    gauge_tells(other.energy_wh, other.percentage);
    for (const int second : {4, 9, 13}) EXPECT_NEAR(capacity_of(*sensor, second), 10, 1e-6);
    EXPECT_NEAR(capacity_of(*sensor, 14), other.capacity_wh, 1e-6);
    gauge_tells(0.98 * other.energy_wh, other.percentage - 1);
    EXPECT_NEAR(capacity_of(*sensor, 40), other.capacity_wh, 1e-6) << "it was told once";
  }
}

// The percentage of many gauges is not that of the energy: at 5 % this one holds twice as much.
TEST_F(SwappedBatteryTest, APercentageThatDriftsFromTheEnergyIsNoOtherBattery) {
  put("type", "Battery");
  gauge_tells(9.5, 90);
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  const double capacity_wh = capacity_of(*sensor, 1);
  int second = 1;
  for (double percentage = 90; percentage >= 0; percentage -= 0.1) {
    gauge_tells(0.5 + percentage / 10, percentage);
    EXPECT_NEAR(capacity_of(*sensor, second += 5), capacity_wh, 1e-6) << percentage;
  }
  for (double percentage = 5; percentage <= 100; percentage += 0.1) {
    gauge_tells(0.5 + percentage / 10, percentage);
    EXPECT_NEAR(capacity_of(*sensor, second += 5), capacity_wh, 1e-6) << percentage;
  }
}

}  // namespace
}  // namespace gearshift
