// What is taken for a battery where, and the estimates where it has no gauge.
#include "sensors/open_battery.h"

#include <gtest/gtest.h>

#include "controller/battery.h"
#include "sensors/battery_integral.h"
#include "sensors/ina219.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

Time at_second(int second) { return Time{} + seconds(second); }

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
  sensor->read(at_second(1), readings);
  for (const Reading& reading : readings) battery.add(reading);
  EXPECT_DOUBLE_EQ(battery.voltage_v.value(), 11.8);
  EXPECT_DOUBLE_EQ(battery.current_a.value(), 1.7);
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "0\n");
  readings.clear();
  sensor->read(at_second(2), readings);
  EXPECT_EQ(readings[0].state, ReadingState::absurd);
  EXPECT_NE(sensor->explain(readings[0]).find("0 mV"), std::string::npos);
}

// What was open stays dead, and the next number may be that of another chip.
TEST(Ina219, IsFoundAgainInItsPlaceWhenItsDriverIsBoundAnew) {
  fakes::TempTree tree;
  const auto chip = [&tree](int number, const std::string& device, const std::string& voltage) {
    const std::string folder = "/sys/class/hwmon/hwmon" + std::to_string(number);
    tree.folder("/sys/devices/i2c-7/" + device);
    tree.link(folder + "/device", "/sys/devices/i2c-7/" + device);
    tree.put(folder + "/name", "ina219\n");
    tree.put(folder + "/in1_input", voltage + "\n");
    tree.put(folder + "/curr1_input", "1700\n");
  };
  chip(5, "7-0040", "11800");
  Sysroot root(tree.root());
  std::vector<std::string> findings;
  const auto sensor = Ina219::open(root, findings);
  ASSERT_NE(sensor, nullptr);
  const auto voltage_of = [&](int ms) {
    std::vector<Reading> readings;
    sensor->read(Time{} + std::chrono::milliseconds(ms), readings);
    return readings.at(0).state == ReadingState::ok ? readings.at(0).value : -1;
  };
  EXPECT_EQ(voltage_of(0), 11'800);
  tree.put("/sys/class/hwmon/hwmon5/in1_input", "");  // as a dead file answers
  EXPECT_EQ(voltage_of(100), -1);
  tree.remove("/sys/class/hwmon/hwmon5");
  chip(5, "7-0041", "5000");
  EXPECT_EQ(voltage_of(200), -1) << "another chip's voltage is not the battery's";
  chip(6, "7-0040", "11700");
  EXPECT_EQ(voltage_of(1100), -1) << "looked for once a second";
  EXPECT_EQ(voltage_of(1200), 11'700);
  tree.put("/sys/class/hwmon/hwmon6/in1_input", "11600\n");
  EXPECT_EQ(voltage_of(1300), 11'600);
}

Reading battery_power(double power_w, ReadingState state = ReadingState::ok) {
  return {Quantity::power, state, false, 0, static_cast<std::int64_t>(1000 * power_w),
          at_second(0)};
}

// Those of that second.
double left_wh(BatteryIntegral& sensor, int second, std::vector<Reading> readings) {
  for (Reading& reading : readings) reading.taken = at_second(second);
  sensor.read(at_second(second), readings);
  Battery battery;
  for (const Reading& reading : readings) battery.add(reading);
  EXPECT_TRUE(battery.estimate);
  return battery.energy_wh.value();
}

TEST(BatteryIntegral, AddsUpTheBoardsPowerAndTakesTheMostWhereNothingIsRead) {
  BatteryIntegral sensor(10, 0.5, 90);
  EXPECT_DOUBLE_EQ(left_wh(sensor, 0, {}), 5);
  EXPECT_NEAR(left_wh(sensor, 40, {}), 4, 1e-6);  // 90 W
  EXPECT_NEAR(left_wh(sensor, 140, {battery_power(36)}), 3, 1e-6);
  EXPECT_NEAR(left_wh(sensor, 240, {battery_power(18)}), 2.5, 1e-6);
  EXPECT_NEAR(left_wh(sensor, 340, {battery_power(0, ReadingState::missing)}), 1.5, 1e-6);  // 36 W
  EXPECT_DOUBLE_EQ(left_wh(sensor, 99340, {battery_power(36)}), 0);
}

TEST(BatteryIntegral, PrefersWhatFlowsAtTheTerminals) {
  BatteryIntegral sensor(10, 1, 90);
  left_wh(sensor, 0, {});
  const std::vector<Reading> readings = {
      battery_power(10),
      {Quantity::battery_voltage, ReadingState::ok, false, 0, 12'000, at_second(0)},
      {Quantity::battery_current, ReadingState::ok, false, 0, 3'000, at_second(0)}};
  EXPECT_NEAR(left_wh(sensor, 100, readings), 9, 1e-6);
}

// What the board draws is not all: motors hang on the battery too.
TEST(BatteryIntegral, TakesTheMostWhereTheTerminalsAreReadNoMore) {
  BatteryIntegral sensor(10, 1, 90);
  left_wh(sensor, 0, {});
  const Reading voltage{
      Quantity::battery_voltage, ReadingState::ok, false, 0, 12'000, at_second(0)};
  Reading current{Quantity::battery_current, ReadingState::ok, false, 0, 3'000, at_second(0)};
  EXPECT_NEAR(left_wh(sensor, 100, {battery_power(10), voltage, current}), 9, 1e-6);
  current.state = ReadingState::missing;
  EXPECT_NEAR(left_wh(sensor, 200, {battery_power(10), voltage, current}), 8, 1e-6);  // 36 W
}

TEST(BatteryIntegral, TakesTheMostWhileASensorThatHangsRepeatsItself) {
  for (const bool terminals : {false, true}) {
    BatteryIntegral sensor(10, 1, 90);
    const Reading voltage{
        Quantity::battery_voltage, ReadingState::ok, false, 0, 12'000, at_second(0)};
    const Reading current{
        Quantity::battery_current, ReadingState::ok, false, 0, 1'500, at_second(0)};
    std::vector<Reading> repeated = {battery_power(18)};
    if (terminals) repeated = {battery_power(0, ReadingState::missing), voltage, current};
    for (Reading& reading : repeated) reading.taken = at_second(20);
    left_wh(sensor, 0, {});
    EXPECT_NEAR(left_wh(sensor, 10, {battery_power(36)}), 9.9, 1e-6);
    const auto left = [&](int second) {
      std::vector<Reading> readings = repeated;
      sensor.read(at_second(second), readings);
      Battery battery;
      for (const Reading& reading : readings) battery.add(reading);
      return battery.energy_wh.value();
    };
    EXPECT_NEAR(left(20), 9.85, 1e-6);
    EXPECT_NEAR(left(30), 9.8, 1e-6) << "18 W, ten seconds old";
    EXPECT_NEAR(left(40), 9.7, 1e-6) << "36 W";
  }
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
  EXPECT_DOUBLE_EQ(left_wh(sensor, 1005, {battery_power(20)}), 50);
  awake_s += 180;
  EXPECT_NEAR(left_wh(sensor, 1185, {battery_power(20)}), 49, 1e-6);
  awake_s += 9;
  EXPECT_NEAR(left_wh(sensor, 1185 + 8 * 3600, {battery_power(20)}), 48.95, 1e-6);
  // The process was stopped, and the board drew on.
  awake_s += 180;
  EXPECT_NEAR(left_wh(sensor, 1365 + 8 * 3600, {battery_power(20)}), 47.95, 1e-6);
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
