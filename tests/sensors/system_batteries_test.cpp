#include "sensors/system_batteries.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/battery.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

// A laptop with two: the firmware empties the second one first.
class SystemBatteriesTest : public testing::Test {
 protected:
  SystemBatteriesTest() {
    put("BAT0", {{"energy_now", 23'000'000},
                 {"energy_full", 24'000'000},
                 {"voltage_now", 11'400'000},
                 {"power_now", 0}});
    put("BAT1", {{"energy_now", 40'000'000},
                 {"energy_full", 48'000'000},
                 {"voltage_now", 12'000'000},
                 {"power_now", 14'000'000}});
  }

  void put(const std::string& name, const std::map<std::string, int>& files) {
    tell(name, "type", "Battery");
    tell(name, "status", "Discharging");
    for (const auto& [file, value] : files) tell(name, file, std::to_string(value));
  }
  void tell(const std::string& name, const std::string& file, const std::string& text) {
    tree_.put("/sys/class/power_supply/" + name + "/" + file, text + "\n");
  }
  void remove(const std::string& name) { tree_.remove("/sys/class/power_supply/" + name); }

  void open(std::optional<double> capacity_wh = std::nullopt) {
    findings_.clear();
    sensor_ = SystemBatteries::open(capacity_wh, root_, findings_);
  }
  std::vector<Reading> readings(int second) {
    std::vector<Reading> all;
    sensor_->read(Time{} + std::chrono::seconds(second), all);
    return all;
  }
  Battery battery(int second) {
    Battery read;
    for (const Reading& reading : readings(second)) read.add(reading);
    return read;
  }
  Reading energy(int second) {
    for (const Reading& reading : readings(second)) {
      if (reading.quantity == Quantity::battery_energy) return reading;
    }
    ADD_FAILURE() << "no energy";
    return {};
  }
  std::string all_findings() const {
    std::string text;
    for (const std::string& finding : findings_) text += finding + '\n';
    return text;
  }

  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
  std::vector<std::string> findings_;
  std::unique_ptr<SystemBatteries> sensor_;
};

TEST_F(SystemBatteriesTest, AreCountedTogetherAndNamed) {
  open();
  ASSERT_TRUE(sensor_);
  EXPECT_NE(all_findings().find("battery: BAT0 and BAT1 are counted together"), std::string::npos);
  const Battery both = battery(0);
  EXPECT_DOUBLE_EQ(both.energy_wh.value(), 63);
  EXPECT_DOUBLE_EQ(both.capacity_wh.value(), 72);
  EXPECT_DOUBLE_EQ(both.voltage_v.value(), 12) << "of the one that drains";
  EXPECT_NEAR(both.voltage_v.value() * both.current_a.value(), 14, 0.01);
  EXPECT_TRUE(sensor_->has_voltage());
}

TEST_F(SystemBatteriesTest, WhatOneChargesTheOtherDoesNotDrain) {
  open();
  tell("BAT0", "status", "Charging");
  tell("BAT0", "power_now", "30000000");
  const Battery both = battery(0);
  EXPECT_NEAR(both.voltage_v.value() * both.current_a.value(), 14 - 30, 0.01);
  EXPECT_TRUE(both.charging());
}

// It looked like a full battery on a charger.
TEST_F(SystemBatteriesTest, AFullOneAtRestNextToOneThatDrainsIsNotAllThereIs) {
  tell("BAT0", "energy_now", "23900000");
  open();
  const Battery both = battery(0);
  EXPECT_LT(*both.energy_wh, 0.9 * *both.capacity_wh);
  EXPECT_GT(*both.current_a, 1);
}

TEST_F(SystemBatteriesTest, OneThatVanishesLeavesTheEnergyMissingAndIsNamed) {
  open();
  EXPECT_EQ(energy(0).state, ReadingState::ok);
  tell("BAT1", "energy_now", "");  // what is open shows nothing, as of a device that is gone
  remove("BAT1");
  Reading lost = energy(1);
  for (int second = 2; second < 60; ++second) lost = energy(second);
  EXPECT_EQ(lost.state, ReadingState::missing) << "the other one alone is no battery of 72 Wh";
  const std::string why = sensor_->explain(lost);
  EXPECT_NE(why.find("BAT1: energy_now cannot be read"), std::string::npos) << why;
  EXPECT_EQ(why.find("BAT0"), std::string::npos) << why;
  put("BAT1", {{"energy_now", 39'000'000},
               {"energy_full", 48'000'000},
               {"voltage_now", 12'000'000},
               {"power_now", 14'000'000}});
  EXPECT_DOUBLE_EQ(battery(60).energy_wh.value(), 62);
}

TEST_F(SystemBatteriesTest, OneThatCountsChargeIsAddedToOneThatCountsEnergy) {
  remove("BAT1");
  put("BAT1", {{"charge_now", 2'000'000},
               {"charge_full", 4'000'000},
               {"voltage_min_design", 12'000'000},
               {"voltage_now", 12'500'000},
               {"current_now", 1'000'000}});
  open();
  const Battery both = battery(0);
  EXPECT_DOUBLE_EQ(both.energy_wh.value(), 23 + 24);
  EXPECT_DOUBLE_EQ(both.capacity_wh.value(), 24 + 48);
  EXPECT_NEAR(both.voltage_v.value() * both.current_a.value(), 12.5, 0.01);
}

TEST_F(SystemBatteriesTest, AnEmptyOneIsNoFaultWhileAnotherHoldsSomething) {
  tell("BAT1", "energy_now", "0");
  open();
  EXPECT_EQ(energy(0).state, ReadingState::ok);
  EXPECT_DOUBLE_EQ(battery(1).energy_wh.value(), 23);
  tell("BAT0", "energy_now", "0");
  const Reading nothing = energy(2);
  EXPECT_EQ(nothing.state, ReadingState::absurd);
  EXPECT_NE(sensor_->explain(nothing).find("BAT0: energy_now 0.00 Wh"), std::string::npos);
  tell("BAT0", "energy_now", "-5000000");
  EXPECT_EQ(energy(3).state, ReadingState::absurd);
}

TEST_F(SystemBatteriesTest, ACapacityThatIsGivenIsOfOneBatteryThatDoesNotTell) {
  for (const std::string name : {"BAT0", "BAT1"}) {
    remove(name);
    put(name, {{"capacity", 50}});
  }
  open(10);
  EXPECT_DOUBLE_EQ(battery(0).capacity_wh.value(), 10) << "not of both";
  EXPECT_NE(all_findings().find("BAT1 passed over"), std::string::npos) << all_findings();
}

TEST_F(SystemBatteriesTest, LeaveOutMiceAndPorts) {
  tell("hidpp_battery_0", "type", "Battery");
  tell("hidpp_battery_0", "scope", "Device");
  tell("hidpp_battery_0", "energy_now", "1000000");
  tell("hidpp_battery_0", "energy_full", "1000000");
  tell("AC", "type", "Mains");
  open();
  EXPECT_DOUBLE_EQ(battery(0).capacity_wh.value(), 72);
}

TEST_F(SystemBatteriesTest, WhereOneTellsNoVoltageNoneIsToldOfAll) {
  remove("BAT1");
  put("BAT1", {{"energy_now", 40'000'000}, {"energy_full", 48'000'000}});
  open();
  EXPECT_FALSE(sensor_->has_voltage());
  EXPECT_EQ(readings(0).size(), 2U) << "energy and capacity";
}

TEST_F(SystemBatteriesTest, OneAloneIsReadAsItIs) {
  remove("BAT1");
  open();
  EXPECT_DOUBLE_EQ(battery(0).energy_wh.value(), 23);
  EXPECT_DOUBLE_EQ(battery(1).voltage_v.value(), 11.4);
  EXPECT_EQ(all_findings().find("together"), std::string::npos);
  EXPECT_EQ(readings(1).size(), 2U) << "voltage and current, within a second";
}

}  // namespace
}  // namespace gearshift
