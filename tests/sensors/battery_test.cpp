#include "controller/battery.h"

#include <gtest/gtest.h>

#include "sensors/battery_integral.h"
#include "sensors/ina219.h"
#include "sensors/open_battery.h"
#include "sensors/power_supply.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time at(int second) { return Time{} + seconds(second); }

class PowerSupplyTest : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    tree_.put("/sys/class/power_supply/BAT0/" + file, text + "\n");
  }
  std::unique_ptr<PowerSupply> open(std::optional<double> capacity_wh = std::nullopt) {
    findings_.clear();
    return PowerSupply::open(capacity_wh, root_, findings_);
  }
  // The readings of a fresh sensor.
  std::vector<Reading> readings(std::optional<double> capacity_wh = std::nullopt) {
    std::vector<Reading> made;
    const auto sensor = open(capacity_wh);
    EXPECT_NE(sensor, nullptr);
    if (sensor) sensor->read(at(1), made);
    return made;
  }
  Battery battery(std::optional<double> capacity_wh = std::nullopt) {
    Battery read;
    for (const Reading& reading : readings(capacity_wh)) read.add(reading);
    return read;
  }
  static std::optional<double> energy_of(PowerSupply& sensor, int second) {
    std::vector<Reading> readings;
    sensor.read(at(second), readings);
    Battery read;
    for (const Reading& reading : readings) read.add(reading);
    return read.energy_wh;
  }
  std::string all_findings() const {
    std::string text;
    for (const std::string& finding : findings_) text += finding + "\n";
    return text;
  }

  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
  std::vector<std::string> findings_;
};

TEST_F(PowerSupplyTest, ReadsEnergyInMicrowatthours) {
  put("type", "Battery");
  put("status", "Discharging");
  put("energy_now", "7200000");
  put("energy_full", "10000000");
  put("voltage_now", "11400000");
  put("current_now", "-2500000");
  const Battery read = battery();
  EXPECT_NEAR(read.energy_wh.value(), 7.2, 1e-6);
  EXPECT_NEAR(read.capacity_wh.value(), 10, 1e-6);
  EXPECT_NEAR(read.voltage_v.value(), 11.4, 1e-6);
  EXPECT_NEAR(read.current_a.value(), 2.5, 1e-6);
}

TEST_F(PowerSupplyTest, SignsTheCurrentByTheStatusWhateverTheDriverDoes) {
  put("type", "Battery");
  put("energy_now", "7200000");
  put("voltage_now", "11400000");
  for (const std::string current : {"1500000", "-1500000"}) {
    put("current_now", current);
    put("status", "Charging");
    EXPECT_NEAR(battery().current_a.value(), -1.5, 1e-6);
    EXPECT_TRUE(battery().charging());
    put("status", "Discharging");
    EXPECT_NEAR(battery().current_a.value(), 1.5, 1e-6);
    put("status", "Unknown");
    EXPECT_NEAR(battery().current_a.value(), 1.5, 1e-6);
  }
}

TEST_F(PowerSupplyTest, FallsBackToChargeTimesVoltageAndToPower) {
  put("type", "Battery");
  put("status", "Discharging");
  put("charge_now", "500000");
  put("charge_full", "1000000");
  put("voltage_now", "12000000");
  put("power_now", "24000000");
  const Battery read = battery();
  EXPECT_NEAR(read.energy_wh.value(), 6, 1e-6);
  EXPECT_NEAR(read.capacity_wh.value(), 12, 1e-6);
  EXPECT_NEAR(read.current_a.value(), 2, 1e-6);
}

TEST_F(PowerSupplyTest, FallsBackToThePercentageOfTheDesignOrOfWhatTheUserSays) {
  put("type", "Battery");
  put("capacity", "40");
  EXPECT_EQ(open(), nullptr);
  EXPECT_NE(all_findings().find("BAT0 passed over"), std::string::npos);
  EXPECT_NEAR(battery(20).energy_wh.value(), 8, 1e-6);
  put("energy_full_design", "30000000");
  EXPECT_NEAR(battery().energy_wh.value(), 12, 1e-6);
}

// Some gauges have the file and answer with an error, for good or until they have learnt.
TEST_F(PowerSupplyTest, AFileThatCannotBeReadLeavesTheEnergyToTheNextOne) {
  put("type", "Battery");
  put("energy_now", "");
  put("energy_full", "50000000");
  put("capacity", "60");
  put("voltage_now", "11500000");
  EXPECT_NEAR(battery().energy_wh.value_or(0), 30, 1e-6);
  EXPECT_NE(all_findings().find("energy_now cannot be read (ENODATA)"), std::string::npos)
      << all_findings();
  put("charge_now", "2000000");
  EXPECT_NEAR(battery().energy_wh.value_or(0), 23, 1e-6);
  put("charge_now", "");
  EXPECT_NEAR(battery().energy_wh.value_or(0), 30, 1e-6);
}

TEST_F(PowerSupplyTest, SaysWhichFileOfABatteryThatIsPassedOverFails) {
  const auto reason = [this] {
    EXPECT_EQ(open(), nullptr);
    return all_findings();
  };
  put("type", "Battery");
  EXPECT_NE(reason().find("neither energy_now, charge_now nor capacity"), std::string::npos);
  put("energy_now", "");
  put("charge_now", "2000000");
  put("capacity", "60");
  const std::string text = reason();
  for (const char* why : {"energy_now cannot be read (ENODATA)", "charge_now goes with no voltage",
                          "capacity goes with no full energy"}) {
    EXPECT_NE(text.find(why), std::string::npos) << text;
  }
}

// Two ways to tell one energy differ by more than a tick can use.
TEST_F(PowerSupplyTest, WhatBecomesUnreadableIsMissingForTenSecondsBeforeTheNextFileIsTaken) {
  put("type", "Battery");
  put("energy_now", "29000000");
  put("energy_full", "50000000");
  put("capacity", "60");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  const auto energy_wh = [&](int second) { return energy_of(*sensor, second); };
  EXPECT_NEAR(energy_wh(1).value_or(0), 29, 1e-6);
  put("energy_now", "");
  EXPECT_FALSE(energy_wh(2));
  EXPECT_FALSE(energy_wh(9));
  put("energy_now", "28900000");
  EXPECT_NEAR(energy_wh(10).value_or(0), 28.9, 1e-6);
  put("energy_now", "");
  EXPECT_FALSE(energy_wh(11));
  EXPECT_FALSE(energy_wh(20));
  EXPECT_NEAR(energy_wh(21).value_or(0), 30, 1e-6);
  put("energy_now", "28800000");
  EXPECT_NEAR(energy_wh(22).value_or(0), 30, 1e-6) << "not back and forth";
}

// Gauges that do not know a size say 0, or less.
TEST_F(PowerSupplyTest, ASizeOfNothingIsNone) {
  put("type", "Battery");
  put("energy_now", "7200000");
  for (const std::string nothing : {"0", "-1"}) {
    put("energy_full", nothing);
    put("energy_full_design", nothing);
    EXPECT_NEAR(battery().energy_wh.value_or(0), 7.2, 1e-6);
    EXPECT_FALSE(battery().capacity_wh);
    EXPECT_NEAR(battery(9).capacity_wh.value_or(0), 9, 1e-6);
  }
  put("energy_full_design", "10000000");
  EXPECT_NEAR(battery().capacity_wh.value_or(0), 10, 1e-6);
}

// What was open of a battery that is taken out stays dead.
TEST_F(PowerSupplyTest, ABatteryThatWasSwappedIsReadAgain) {
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

TEST_F(PowerSupplyTest, PassesOverMicePortsAndWhatIsAbsent) {
  tree_.put("/sys/class/power_supply/mouse/type", "Battery\n");
  tree_.put("/sys/class/power_supply/mouse/scope", "Device\n");
  tree_.put("/sys/class/power_supply/mouse/energy_now", "1000000\n");
  tree_.put("/sys/class/power_supply/ucsi-source-psy-1/type", "USB\n");
  put("type", "Battery");
  put("energy_now", "7000000");
  put("present", "0");
  EXPECT_EQ(open(), nullptr);
  const std::string text = all_findings();
  for (const char* why : {"scope is Device", "type is USB", "not present"}) {
    EXPECT_NE(text.find(why), std::string::npos) << text;
  }
  put("present", "1");
  EXPECT_NE(open(), nullptr);
}

TEST_F(PowerSupplyTest, CallsAbsurdWhatNoBatteryReads) {
  put("type", "Battery");
  put("energy_full", "10000000");
  put("voltage_now", "11000000");
  for (const std::string energy : {"0", "-5", "13000000"}) {
    put("energy_now", energy);
    for (const Reading& reading : readings()) {
      if (reading.quantity != Quantity::battery_energy) continue;
      EXPECT_EQ(reading.state, ReadingState::absurd) << energy;
    }
  }
  put("energy_now", "5000000");
  put("voltage_now", "0");
  for (const Reading& reading : readings()) {
    if (reading.quantity != Quantity::battery_voltage) continue;
    EXPECT_EQ(reading.state, ReadingState::absurd);
  }
}

TEST_F(PowerSupplyTest, SaysWhyAReadingIsMissing) {
  put("type", "Battery");
  put("energy_now", "5000000");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  put("energy_now", "");
  std::vector<Reading> readings;
  sensor->read(at(1), readings);
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].state, ReadingState::missing);
  EXPECT_NE(sensor->explain(readings[0]).find("BAT0: "), std::string::npos);
}

TEST_F(PowerSupplyTest, AsksForEnergyOnceASecondAndForVoltageEachTime) {
  put("type", "Battery");
  put("energy_now", "5000000");
  put("voltage_now", "11000000");
  const auto sensor = open();
  std::vector<Reading> readings;
  sensor->read(at(1), readings);
  EXPECT_EQ(readings.size(), 2U);
  sensor->read(at(1) + milliseconds(100), readings);
  EXPECT_EQ(readings.size(), 3U);
  EXPECT_EQ(readings.back().quantity, Quantity::battery_voltage);
  sensor->read(at(2), readings);
  EXPECT_EQ(readings.size(), 5U);
}

TEST(Ina219, ReadsVoltageAndTakesAnyCurrentAsDrawn) {
  fakes::TempTree tree;
  tree.put("/sys/class/hwmon/hwmon0/name", "ina3221\n");
  tree.put("/sys/class/hwmon/hwmon5/name", "ina219\n");
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "11800\n");
  tree.put("/sys/class/hwmon/hwmon5/curr1_input", "-1700\n");
  Sysroot root(tree.root());
  std::vector<std::string> findings;
  const auto sensor = Ina219::open(root, findings);
  ASSERT_NE(sensor, nullptr);
  Battery battery;
  std::vector<Reading> readings;
  sensor->read(at(1), readings);
  for (const Reading& reading : readings) battery.add(reading);
  EXPECT_DOUBLE_EQ(battery.voltage_v.value(), 11.8);
  EXPECT_DOUBLE_EQ(battery.current_a.value(), 1.7);
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "0\n");
  readings.clear();
  sensor->read(at(2), readings);
  EXPECT_EQ(readings[0].state, ReadingState::absurd);
  EXPECT_NE(sensor->explain(readings[0]).find("0 mV"), std::string::npos);
}

Reading power(double power_w, ReadingState state = ReadingState::ok) {
  return {Quantity::power, state, false, 0, static_cast<std::int64_t>(1000 * power_w), at(0)};
}

double left_wh(BatteryIntegral& sensor, int second, std::vector<Reading> readings) {
  sensor.read(at(second), readings);
  Battery battery;
  for (const Reading& reading : readings) battery.add(reading);
  EXPECT_TRUE(battery.estimate);
  return battery.energy_wh.value();
}

TEST(BatteryIntegral, AddsUpTheBoardsPowerAndTakesTheMostWhereNothingIsRead) {
  BatteryIntegral sensor(10, 0.5, 90);
  EXPECT_DOUBLE_EQ(left_wh(sensor, 0, {}), 5);
  EXPECT_NEAR(left_wh(sensor, 40, {}), 4, 1e-6);  // 90 W
  EXPECT_NEAR(left_wh(sensor, 140, {power(36)}), 3, 1e-6);
  EXPECT_NEAR(left_wh(sensor, 240, {power(18)}), 2.5, 1e-6);
  EXPECT_NEAR(left_wh(sensor, 340, {power(0, ReadingState::missing)}), 1.5, 1e-6);  // 36 W
  EXPECT_DOUBLE_EQ(left_wh(sensor, 99340, {power(36)}), 0);
}

TEST(BatteryIntegral, PrefersWhatFlowsAtTheTerminals) {
  BatteryIntegral sensor(10, 1, 90);
  left_wh(sensor, 0, {});
  const std::vector<Reading> readings = {
      power(10),
      {Quantity::battery_voltage, ReadingState::ok, false, 0, 12'000, at(0)},
      {Quantity::battery_current, ReadingState::ok, false, 0, 3'000, at(0)}};
  EXPECT_NEAR(left_wh(sensor, 100, readings), 9, 1e-6);
}

// The loop's clock counts the sleep: eight hours at the power of the moment after would be 160 Wh.
TEST(BatteryIntegral, ChargesNothingForTheTimeInWhichTheMachineWasSuspended) {
  fakes::TempTree tree;
  Sysroot root(tree.root());
  OpenedSensors opened;
  int awake_s = 5;
  ASSERT_TRUE(
      open_battery({.capacity_wh = 50, .awake = [&awake_s] { return Duration(seconds(awake_s)); }},
                   root, opened));
  auto& sensor = dynamic_cast<BatteryIntegral&>(*opened.sensors.front());
  EXPECT_DOUBLE_EQ(left_wh(sensor, 1005, {power(20)}), 50);
  awake_s += 180;
  EXPECT_NEAR(left_wh(sensor, 1185, {power(20)}), 49, 1e-6);
  awake_s += 9;
  EXPECT_NEAR(left_wh(sensor, 1185 + 8 * 3600, {power(20)}), 48.95, 1e-6);
  // The process was stopped, and the board drew on.
  awake_s += 180;
  EXPECT_NEAR(left_wh(sensor, 1365 + 8 * 3600, {power(20)}), 47.95, 1e-6);
}

TEST(OpenBattery, TakesTheGaugeElseTheChipElseTheBoardsPower) {
  fakes::TempTree tree;
  Sysroot root(tree.root());
  OpenedSensors none;
  EXPECT_FALSE(open_battery({}, root, none));
  EXPECT_TRUE(none.sensors.empty());
  EXPECT_NE(none.findings.back().find("--battery 10Wh"), std::string::npos);
  OpenedSensors by_power;
  EXPECT_TRUE(open_battery({.capacity_wh = 10}, root, by_power));
  EXPECT_EQ(by_power.sensors.size(), 1U);
  tree.put("/sys/class/hwmon/hwmon5/name", "ina219\n");
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "11800\n");
  tree.put("/sys/class/hwmon/hwmon5/curr1_input", "1700\n");
  OpenedSensors by_chip;
  EXPECT_TRUE(open_battery({.capacity_wh = 10}, root, by_chip));
  EXPECT_EQ(by_chip.sensors.size(), 2U);
  tree.put("/sys/class/power_supply/BAT0/type", "Battery\n");
  tree.put("/sys/class/power_supply/BAT0/energy_now", "5000000\n");
  OpenedSensors by_gauge;
  EXPECT_TRUE(open_battery({.capacity_wh = 10}, root, by_gauge));
  EXPECT_EQ(by_gauge.sensors.size(), 1U);
}

TEST(OpenBattery, SaysWhereNothingReadsTheVoltage) {
  fakes::TempTree tree;
  Sysroot root(tree.root());
  const auto open = [&root] {
    OpenedSensors opened;
    EXPECT_TRUE(open_battery({.capacity_wh = 10}, root, opened));
    const bool told = opened.findings.back().find("no voltage") != std::string::npos;
    EXPECT_EQ(told, !opened.battery_voltage);
    return opened.battery_voltage;
  };
  EXPECT_FALSE(open());
  tree.put("/sys/class/hwmon/hwmon5/name", "ina219\n");
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "11800\n");
  tree.put("/sys/class/hwmon/hwmon5/curr1_input", "1700\n");
  EXPECT_TRUE(open());
  tree.put("/sys/class/power_supply/BAT0/type", "Battery\n");
  tree.put("/sys/class/power_supply/BAT0/energy_now", "5000000\n");
  EXPECT_FALSE(open()) << "the gauge is taken alone";
  tree.put("/sys/class/power_supply/BAT0/voltage_now", "11800000\n");
  EXPECT_TRUE(open());
}

}  // namespace
}  // namespace gearshift
