#include "sensors/ina3221.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;
using std::chrono::milliseconds;

class Ina3221Test : public testing::Test {
 protected:
  void open() {
    findings_.clear();
    sensor_ = Ina3221::open(board_.description().power, root_, findings_);
  }

  // The newest readings at `ms` after the epoch.
  std::vector<Reading> read(std::int64_t ms) {
    std::vector<Reading> readings;
    sensor_->read(Time(milliseconds(ms)), readings);
    return readings;
  }

  static Reading total(const std::vector<Reading>& readings) { return readings.at(0); }

  bool found(std::string_view text) const {
    return std::any_of(findings_.begin(), findings_.end(), [text](const std::string& finding) {
      return finding.find(text) != std::string::npos;
    });
  }

  DirectoryBoard board_;
  Sysroot root_{board_.root()};
  std::vector<std::string> findings_;
  std::unique_ptr<Ina3221> sensor_;
};

TEST_F(Ina3221Test, TheTotalIsTheSumOfTheRailsWithASign) {
  open();
  ASSERT_TRUE(sensor_);
  const std::vector<Reading> readings = read(100);
  ASSERT_EQ(readings.size(), 5u);
  EXPECT_EQ(total(readings).quantity, Quantity::power);
  EXPECT_EQ(total(readings).state, ReadingState::ok);
  EXPECT_EQ(total(readings).value, 7600 + 3800 + 4500) << "VDDQ_VDD2_1V8AO is inside VIN_SYS_5V0";
  EXPECT_EQ(total(readings).taken, Time(milliseconds(100)));
  EXPECT_FALSE(total(readings).estimate);
  EXPECT_FALSE(sensor_->estimates());
  EXPECT_EQ(readings[1].quantity, Quantity::rail_power);
  EXPECT_EQ(readings[1].channel, 0);
  EXPECT_EQ(readings[1].value, 7600);
  EXPECT_EQ(readings[4].channel, 3);
  EXPECT_EQ(readings[4].value, 300);
}

TEST_F(Ina3221Test, FindsRailsByLabelWhateverTheirChannelAndHwmonNumber) {
  open();
  EXPECT_TRUE(found("rail VDD_CPU_CV at /sys/class/hwmon/hwmon3/in2_input"));
  EXPECT_TRUE(found("rail VDDQ_VDD2_1V8AO at /sys/class/hwmon/hwmon4/in2_input"));
}

TEST_F(Ina3221Test, ADeadRailOutsideTheTotalChangesNothing) {
  board_.remove("/sys/class/hwmon/hwmon4/in2_input");
  open();
  ASSERT_TRUE(sensor_);
  EXPECT_EQ(total(read(100)).value, 15900);
  EXPECT_FALSE(total(read(100)).estimate);
  EXPECT_EQ(read(100).size(), 4u);
  EXPECT_TRUE(found("VDDQ_VDD2_1V8AO cannot be read"));
}

TEST_F(Ina3221Test, ADeadRailOfTheTotalMakesItAnEstimateThatIsNotTooLow) {
  board_.remove(DirectoryBoard::hwmon("curr2_input"));
  open();
  ASSERT_TRUE(sensor_);
  EXPECT_TRUE(sensor_->estimates());
  const Reading reading = total(read(100));
  EXPECT_EQ(reading.state, ReadingState::ok);
  EXPECT_TRUE(reading.estimate);
  EXPECT_EQ(reading.value, (7600 + 4500) * (1 + kDeadRailShare));
  EXPECT_TRUE(found("VDD_CPU_CV cannot be read"));
  EXPECT_TRUE(found("is an estimate"));
}

TEST_F(Ina3221Test, WithoutARailOfTheTotalThereIsNoSensor) {
  for (const char* file : {"in1_input", "in2_input", "in3_input"}) {
    board_.remove(DirectoryBoard::hwmon(file));
  }
  open();
  EXPECT_FALSE(sensor_);
  EXPECT_TRUE(found("not one rail"));
  EXPECT_TRUE(found("VDD_CPU_CV cannot be read"));
  EXPECT_FALSE(found("is an estimate")) << "there are no other rails to count it by";
}

TEST_F(Ina3221Test, WithoutAMonitorTheFindingSaysWhereItLooked) {
  board_.remove("/sys/class/hwmon");
  open();
  EXPECT_FALSE(sensor_);
  EXPECT_TRUE(found("no ina3221 below /sys/class/hwmon"));
}

TEST_F(Ina3221Test, NeverTakesTheSumChannelForARail) {
  board_.put(DirectoryBoard::hwmon("in7_label"), "VDD_GPU_SOC");
  board_.put(DirectoryBoard::hwmon("in7_input"), "1");
  board_.put(DirectoryBoard::hwmon("in1_label"), "NC");
  open();
  EXPECT_TRUE(found("VDD_GPU_SOC cannot be read"));
}

TEST_F(Ina3221Test, ARailThatFailsLaterHoldsTheTotalUntilItIsStaleAndComesBack) {
  open();
  EXPECT_EQ(total(read(100)).value, 15900);
  board_.put(DirectoryBoard::hwmon("curr1_input"), "");
  const Reading held = total(read(1100));
  EXPECT_EQ(held.state, ReadingState::ok);
  EXPECT_EQ(held.value, 15900);
  EXPECT_EQ(held.taken, Time(milliseconds(100))) << "no younger than it is";
  EXPECT_EQ(read(1100)[1].state, ReadingState::missing);
  EXPECT_EQ(read(1100)[2].state, ReadingState::ok);
  const Reading missing = total(read(1101));
  EXPECT_EQ(missing.state, ReadingState::missing);
  EXPECT_EQ(
      sensor_->explain(missing),
      "VDD_GPU_SOC at " + board_.at(DirectoryBoard::hwmon("curr1_input")).string() + ": ENODATA");
  board_.put(DirectoryBoard::hwmon("curr1_input"), "400");
  const Reading back = total(read(1200));
  EXPECT_EQ(back.state, ReadingState::ok);
  EXPECT_EQ(back.taken, Time(milliseconds(1200)));
  EXPECT_EQ(sensor_->explain(back), "");
}

// What was open stays dead, as the files of a driver that was bound anew do.
TEST_F(Ina3221Test, ARailIsFoundAgainWhereItsMonitorHasAnotherNumber) {
  open();
  EXPECT_EQ(total(read(100)).value, 15900);
  board_.put(DirectoryBoard::hwmon("curr1_input"), "");
  std::filesystem::rename(board_.at("/sys/class/hwmon/hwmon3"),
                          board_.at("/sys/class/hwmon/hwmon9"));
  EXPECT_EQ(read(200)[1].state, ReadingState::missing);
  EXPECT_EQ(read(300)[1].state, ReadingState::missing);
  board_.remove("/sys/class/hwmon/hwmon9/curr1_input");
  board_.put("/sys/class/hwmon/hwmon9/curr1_input", "500");
  EXPECT_EQ(read(1200)[1].state, ReadingState::missing) << "looked for once a second";
  const Reading back = total(read(1300));
  EXPECT_EQ(back.state, ReadingState::ok);
  EXPECT_EQ(back.value, 15900 + 1900);
  EXPECT_FALSE(back.estimate);
}

TEST_F(Ina3221Test, MonitorsThatComeLateAreFound) {
  const std::filesystem::path here = board_.at("/sys/class/hwmon");
  const std::filesystem::path away = board_.at("/sys/class/later");
  std::filesystem::rename(here, away);
  open();
  ASSERT_FALSE(sensor_);
  sensor_ = Ina3221::awaited(board_.description().power, root_, "no ina3221");
  const Reading missing = total(read(0));
  EXPECT_EQ(missing.state, ReadingState::missing);
  EXPECT_EQ(sensor_->explain(missing), "no ina3221; now: power: no ina3221 below /sys/class/hwmon");
  std::filesystem::rename(away, here);
  EXPECT_EQ(total(read(900)).state, ReadingState::missing) << "looked for once a second";
  EXPECT_EQ(total(read(1000)).value, 15900);
  EXPECT_EQ(read(1000).size(), 5u);
  EXPECT_FALSE(sensor_->estimates());
}

TEST_F(Ina3221Test, WhyAMonitorThatCameLateIsNotReadIsTold) {
  for (const char* file : {"curr1_input", "curr2_input", "curr3_input"}) {
    board_.put(DirectoryBoard::hwmon(file), "");
  }
  sensor_ = Ina3221::awaited(board_.description().power, root_, "no ina3221");
  const std::string why = sensor_->explain(total(read(0)));
  EXPECT_EQ(why.find("no ina3221; now: power: "), 0u) << why;
}

// The second monitor of a board may come a moment after the first.
TEST_F(Ina3221Test, OfMonitorsThatComeLateARailIsDeadThatIsNotThereByTheThirdLook) {
  board_.put(DirectoryBoard::hwmon("curr2_input"), "");
  sensor_ = Ina3221::awaited(board_.description().power, root_, "no ina3221");
  EXPECT_EQ(total(read(0)).state, ReadingState::missing);
  EXPECT_EQ(total(read(1000)).state, ReadingState::missing);
  const Reading estimate = total(read(2000));
  EXPECT_TRUE(estimate.estimate);
  EXPECT_EQ(estimate.value, (7600 + 4500) * 3);
}

TEST_F(Ina3221Test, ARailOutsideTheTotalThatFailsLaterLeavesTheTotalAlone) {
  open();
  board_.put("/sys/class/hwmon/hwmon4/curr2_input", "");
  EXPECT_EQ(total(read(100)).value, 15900);
  const Reading rail = read(100)[4];
  EXPECT_EQ(rail.state, ReadingState::missing);
  EXPECT_NE(sensor_->explain(rail).find("VDDQ_VDD2_1V8AO"), std::string::npos);
}

TEST_F(Ina3221Test, WhatNoBoardCanDrawIsAbsurd) {
  open();
  board_.put(DirectoryBoard::hwmon("curr2_input"), "0");
  board_.put(DirectoryBoard::hwmon("curr3_input"), "0");
  board_.put(DirectoryBoard::hwmon("in1_input"), "15000");
  board_.put(DirectoryBoard::hwmon("curr1_input"), "10000");
  EXPECT_EQ(total(read(100)).state, ReadingState::ok) << "150 W is the limit itself";
  board_.put(DirectoryBoard::hwmon("in1_input"), "15001");
  const Reading reading = total(read(200));
  EXPECT_EQ(reading.state, ReadingState::absurd);
  EXPECT_EQ(sensor_->explain(reading),
            "VDD_GPU_SOC at " + board_.at(DirectoryBoard::hwmon("curr1_input")).string() +
                ": 15001 mV times 10000 mA is outside 0 to 150000 mW, which no reading of this "
                "board can be");
  board_.put(DirectoryBoard::hwmon("in1_input"), "15000");
  board_.put(DirectoryBoard::hwmon("curr2_input"), "1");
  EXPECT_EQ(sensor_->explain(total(read(300))),
            "150019 mW on all rails together is outside 0 to 150000 mW, which no reading of this "
            "board can be");
}

TEST_F(Ina3221Test, ANegativeRailMakesTheTotalAbsurdEvenWhereTheSumIsPlausible) {
  open();
  board_.put(DirectoryBoard::hwmon("curr2_input"), "-25");
  EXPECT_EQ(read(100)[2].state, ReadingState::absurd);
  const Reading reading = total(read(100));
  EXPECT_EQ(reading.state, ReadingState::absurd);
  EXPECT_EQ(sensor_->explain(reading),
            "VDD_CPU_CV at " + board_.at(DirectoryBoard::hwmon("curr2_input")).string() +
                ": 19000 mV times -25 mA is outside 0 to 150000 mW, which no reading of this "
                "board can be");
}

// An offset of up to 80 uV and a step of 40: 24 mA over 5 mOhm, 60 over 2.
TEST_F(Ina3221Test, ACurrentThatIsBelowNothingByTheChipsOffsetIsNothing) {
  board_.put(DirectoryBoard::hwmon("curr2_input"), "-24");
  open();
  EXPECT_EQ(total(read(100)).state, ReadingState::ok);
  EXPECT_EQ(total(read(100)).value, 7600 + 4500) << "it takes nothing off the others";
  EXPECT_EQ(read(100)[2].state, ReadingState::ok);
  EXPECT_EQ(read(100)[2].value, 0);
  board_.put(DirectoryBoard::hwmon("shunt2_resistor"), "2000");
  board_.put(DirectoryBoard::hwmon("curr2_input"), "-60");
  open();
  EXPECT_EQ(total(read(100)).state, ReadingState::ok);
  board_.put(DirectoryBoard::hwmon("curr2_input"), "-61");
  EXPECT_EQ(total(read(100)).state, ReadingState::absurd);
  board_.put(DirectoryBoard::hwmon("shunt2_resistor"), "1");
  open();
  EXPECT_EQ(total(read(100)).state, ReadingState::absurd) << "no board has such a shunt";
}

TEST_F(Ina3221Test, ATotalOfNothingButOffsetIsAbsurd) {
  open();
  for (const char* file : {"curr1_input", "curr2_input", "curr3_input"}) {
    board_.put(DirectoryBoard::hwmon(file), "-8");
  }
  EXPECT_EQ(total(read(100)).state, ReadingState::absurd);
}

TEST_F(Ina3221Test, ATotalOfNothingIsAbsurdAndARailOfNothingIsNot) {
  open();
  board_.put(DirectoryBoard::hwmon("curr1_input"), "0");
  EXPECT_EQ(total(read(100)).state, ReadingState::ok);
  EXPECT_EQ(read(100)[1].state, ReadingState::ok);
  board_.put(DirectoryBoard::hwmon("curr2_input"), "0");
  board_.put(DirectoryBoard::hwmon("curr3_input"), "0");
  const Reading nothing = total(read(200));
  EXPECT_EQ(nothing.state, ReadingState::absurd);
  EXPECT_EQ(sensor_->explain(nothing),
            "0 mW on all rails together, which a board that runs cannot draw");
  EXPECT_EQ(read(200)[1].state, ReadingState::ok);
}

TEST_F(Ina3221Test, AbsurdReadingsAreNotHeld) {
  open();
  EXPECT_EQ(total(read(100)).state, ReadingState::ok);
  board_.put(DirectoryBoard::hwmon("curr2_input"), "-200");
  EXPECT_EQ(total(read(200)).state, ReadingState::absurd);
  board_.put(DirectoryBoard::hwmon("curr2_input"), "");
  EXPECT_EQ(total(read(300)).state, ReadingState::missing);
}

TEST_F(Ina3221Test, AnInterruptedReadEndsAtOnce) {
  open();
  sensor_->interrupt();
  const std::vector<Reading> readings = read(100);
  EXPECT_EQ(readings.size(), 5u);
  for (const Reading& reading : readings) EXPECT_EQ(reading.state, ReadingState::missing);
}

}  // namespace
}  // namespace gearshift
