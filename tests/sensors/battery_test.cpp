#include "controller/battery.h"

#include <gtest/gtest.h>

#include "tests/sensors/power_supply_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Time at(int second) { return Time{} + seconds(second); }

class PowerSupplyTest : public PowerSupplyFixture {
 protected:
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
  // Why the sensor's energy of that second is none.
  static std::string explained(PowerSupply& sensor, int second) {
    std::vector<Reading> readings;
    sensor.read(at(second), readings);
    std::string why;
    for (const Reading& reading : readings) why += sensor.explain(reading);
    return why;
  }
  std::string all_findings() const {
    std::string text;
    for (const std::string& finding : findings_) text += finding + "\n";
    return text;
  }
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
  put("energy_full", "10000000");
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
    EXPECT_EQ(open(), nullptr);
    EXPECT_NEAR(battery(9).capacity_wh.value_or(0), 9, 1e-6);
  }
  put("energy_full_design", "10000000");
  EXPECT_NEAR(battery().capacity_wh.value_or(0), 10, 1e-6);
}

// The charge at the start is no full battery: its reserve would be a share of what is left.
TEST_F(PowerSupplyTest, TakesTheFullEnergyByThePercentageWhereNoFileTellsIt) {
  put("type", "Battery");
  put("energy_now", "1500000");
  put("capacity", "15");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr) << all_findings();
  const auto capacity_wh = [&](int second) {
    return battery_of(*sensor, second).capacity_wh.value_or(0);
  };
  EXPECT_NEAR(capacity_wh(1), 10, 1e-6);
  put("energy_now", "1000000");
  put("capacity", "11");
  EXPECT_NEAR(capacity_wh(2), 10, 1e-6) << "it was told once";
  put("energy_full_design", "9000000");
  EXPECT_NEAR(battery().capacity_wh.value_or(0), 9, 1e-6);
}

TEST_F(PowerSupplyTest, PassesOverWhatTellsNoFullEnergyAndSaysHowToGiveIt) {
  put("type", "Battery");
  put("energy_now", "1500000");
  for (const std::string percentage : {"", "0", "4", "101"}) {
    put("capacity", percentage);
    EXPECT_EQ(open(), nullptr) << percentage;
    EXPECT_NE(all_findings().find("does not tell its full energy; give it, for example --battery "
                                  "10Wh"),
              std::string::npos)
        << all_findings();
  }
  EXPECT_NEAR(battery(10).capacity_wh.value_or(0), 10, 1e-6);
}

// A load makes the voltage sag, and uses up no energy.
TEST_F(PowerSupplyTest, AChargeIsAnEnergyByTheDesignedVoltageWhichDoesNotSag) {
  put_charge_gauge();
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  EXPECT_NE(all_findings().find("by charge_now times voltage_min_design, 11.10 V"),
            std::string::npos)
      << all_findings();
  int second = 0;
  for (const std::string voltage : {"12000000", "10200000", "", "0"}) {
    put("voltage_now", voltage);
    for (const Battery& read : {battery_of(*sensor, ++second), battery()}) {
      EXPECT_NEAR(read.energy_wh.value_or(0), 5.55, 1e-6) << voltage;
      EXPECT_NEAR(read.capacity_wh.value_or(0), 11.1, 1e-6) << voltage;
    }
  }
}

// That of one cell of three, say.
TEST_F(PowerSupplyTest, ADesignedVoltageThatCannotBeTheBatterysIsPassedOver) {
  put("type", "Battery");
  put("charge_now", "500000");
  put("charge_full", "1000000");
  put("voltage_now", "12000000");
  for (const std::string design : {"3700000", "48000000", "0", "-1"}) {
    put("voltage_min_design", design);
    EXPECT_NEAR(battery().energy_wh.value_or(0), 6, 1e-6) << design;
    EXPECT_NE(all_findings().find("times voltage_now, so that a load that rises looks like a drain "
                                  "(voltage_min_design, "),
              std::string::npos)
        << all_findings();
  }
}

// The voltage may be unreadable for a moment when gearshift starts.
TEST_F(PowerSupplyTest, ADesignedVoltageIsJudgedByTheFirstVoltageThatCanBeRead) {
  put("type", "Battery");
  put("charge_now", "500000");
  put("charge_full", "1000000");
  put("voltage_min_design", "3700000");
  for (const std::string none : {"", "0"}) {
    put("voltage_now", none);
    const auto sensor = open();
    ASSERT_NE(sensor, nullptr);
    EXPECT_NEAR(energy_of(*sensor, 1).value_or(0), 1.85, 1e-6) << none;
    put("voltage_now", "12000000");
    EXPECT_NEAR(energy_of(*sensor, 2).value_or(0), 6, 1e-6) << none;
    put("voltage_now", "5000000");
    EXPECT_NEAR(energy_of(*sensor, 3).value_or(0), 2.5, 1e-6) << "once is enough";
  }
}

TEST_F(PowerSupplyTest, PassesOverMicePortsAndWhatIsAbsent) {
  tree_.put("/sys/class/power_supply/mouse/type", "Battery\n");
  tree_.put("/sys/class/power_supply/mouse/scope", "Device\n");
  tree_.put("/sys/class/power_supply/mouse/energy_now", "1000000\n");
  tree_.put("/sys/class/power_supply/ucsi-source-psy-1/type", "USB\n");
  put("type", "Battery");
  put("energy_now", "7000000");
  put("energy_full", "10000000");
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
  put("voltage_now", "11000000");
  const auto sensor = open(10);
  ASSERT_NE(sensor, nullptr);
  put("energy_now", "");
  std::vector<Reading> readings;
  sensor->read(at(1), readings);
  ASSERT_EQ(readings.size(), 3U);
  EXPECT_EQ(readings[1].state, ReadingState::missing);
  EXPECT_NE(sensor->explain(readings[1]).find("BAT0: energy_now cannot be read (ENODATA)"),
            std::string::npos)
      << sensor->explain(readings[1]);
}

TEST_F(PowerSupplyTest, SaysWhatOfAReadingIsAbsurd) {
  const std::string place = "battery at /sys/class/power_supply/BAT0: ";
  put("type", "Battery");
  put("energy_now", "18000000");
  put("energy_full", "10000000");
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  EXPECT_EQ(explained(*sensor, 1),
            place + "energy_now 18.00 Wh is over 1.2 times the full energy, 10.00 Wh");
  put("energy_now", "-2000000");
  EXPECT_EQ(explained(*sensor, 2), place + "energy_now -2.00 Wh is no reading of a battery");
  tree_.remove("/sys/class/power_supply/BAT0/energy_now");
  put("capacity", "130");
  put("voltage_now", "200000000");
  const auto by_percentage = open();
  ASSERT_NE(by_percentage, nullptr);
  EXPECT_EQ(explained(*by_percentage, 1),
            place + "energy by capacity 13.00 Wh is over 1.2 times the full energy, 10.00 Wh" +
                place + "voltage_now 200.00 V is no reading of a battery");
}

TEST_F(PowerSupplyTest, AsksForEnergyOnceASecondAndForVoltageEachTime) {
  put("type", "Battery");
  put("energy_now", "5000000");
  put("voltage_now", "11000000");
  const auto sensor = open(10);
  std::vector<Reading> readings;
  sensor->read(at(1), readings);
  EXPECT_EQ(readings.size(), 3U);
  sensor->read(at(1) + milliseconds(100), readings);
  EXPECT_EQ(readings.size(), 4U);
  EXPECT_EQ(readings.back().quantity, Quantity::battery_voltage);
  sensor->read(at(2), readings);
  EXPECT_EQ(readings.size(), 7U);
}

}  // namespace
}  // namespace gearshift
