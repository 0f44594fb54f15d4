#include "sensors/ina3221_averaging.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sensors/open.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class Ina3221AveragingTest : public testing::Test {
 protected:
  // What the monitor of the total is set to.
  void set(const std::string& samples, const std::string& interval_ms) {
    board_.put(DirectoryBoard::hwmon("samples"), samples);
    board_.put(DirectoryBoard::hwmon("update_interval"), interval_ms);
  }
  std::optional<PowerAveraging> told() {
    findings_.clear();
    return told_averaging(board_.description().power, root_, findings_);
  }

  DirectoryBoard board_;
  Sysroot root_{board_.root()};
  std::vector<std::string> findings_;
};

TEST_F(Ina3221AveragingTest, WhatNvidiasImagesSetIsTheBoardFilesWhateverTheDriverCounts) {
  for (const char* interval_ms : {"430", "1"}) {
    set("512", interval_ms);
    EXPECT_FALSE(told()) << interval_ms;
  }
  board_.remove(DirectoryBoard::hwmon("update_interval"));
  EXPECT_FALSE(told());
  EXPECT_TRUE(findings_.empty());
}

TEST_F(Ina3221AveragingTest, WhereNothingTellsTheBoardFileHolds) {
  EXPECT_FALSE(told()) << "no such files";
  for (const char* samples : {"", "many", "0", "-512", "5000"}) {
    set(samples, "430");
    EXPECT_FALSE(told()) << samples;
  }
  // A monitor of a rail that is inside another one says nothing of the total.
  board_.remove(DirectoryBoard::hwmon("samples"));
  board_.put("/sys/class/hwmon/hwmon4/samples", "1");
  EXPECT_FALSE(told());
}

// The driver's own setting, of 1.1 ms a conversion, and NVIDIA's conversions.
TEST_F(Ina3221AveragingTest, AMeanShorterThanTheSamplingPeriodIsTheNewestValue) {
  for (const char* interval_ms : {"7", "1"}) {
    set("1", interval_ms);
    const auto averaging = told();
    ASSERT_TRUE(averaging) << interval_ms;
    EXPECT_EQ(averaging->averaging, Duration::zero());
    EXPECT_EQ(averaging->window, milliseconds(430));
  }
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_EQ(findings_[0],
            "power: the ina3221 at /sys/class/hwmon/hwmon3 averages over 0.8 ms (samples 1, "
            "update_interval 1) and not over the 430 ms of the board file: it is taken as it is, "
            "and readings vary more or lag more; the way out is what NVIDIA's images set at boot, "
            "as root: echo 512 > /sys/class/hwmon/hwmon3/samples");
}

TEST_F(Ina3221AveragingTest, AnotherMeanIsTakenAsItIsAndTheWindowIsNoShorter) {
  struct Case {
    const char* samples;
    const char* interval_ms;
    Duration averaging;
    Duration window;
  };
  for (const Case& one : {
           Case{"1024", "860", microseconds(860'160), microseconds(860'160)},
           Case{"1024", "1", microseconds(860'160), microseconds(860'160)},
           Case{"512", "7", microseconds(3'379'200), microseconds(3'379'200)},
           Case{"256", "215", microseconds(215'040), milliseconds(430)},
           Case{"128", "1", microseconds(107'520), milliseconds(430)},
           Case{"64", "53", Duration::zero(), milliseconds(430)},
       }) {
    set(one.samples, one.interval_ms);
    const auto averaging = told();
    ASSERT_TRUE(averaging) << one.samples;
    EXPECT_EQ(averaging->averaging, one.averaging) << one.samples << ' ' << one.interval_ms;
    EXPECT_EQ(averaging->window, one.window) << one.samples << ' ' << one.interval_ms;
  }
}

TEST_F(Ina3221AveragingTest, ChannelsThatAreOffTakeNoTime) {
  board_.put(DirectoryBoard::hwmon("in3_enable"), "0");
  set("1024", "573");
  const auto averaging = told();
  ASSERT_TRUE(averaging);
  EXPECT_EQ(averaging->averaging, microseconds(573'440));
}

TEST_F(Ina3221AveragingTest, MonitorsThatDifferMakeNoMean) {
  set("512", "430");
  board_.put("/sys/class/hwmon/hwmon5/name", "ina3221");
  board_.put("/sys/class/hwmon/hwmon5/in1_label", "VIN_SYS_5V0");
  board_.put("/sys/class/hwmon/hwmon5/samples", "1024");
  const auto averaging = told();
  ASSERT_TRUE(averaging);
  EXPECT_EQ(averaging->averaging, Duration::zero());
  EXPECT_EQ(averaging->window, microseconds(860'160));
  ASSERT_EQ(findings_.size(), 1U);
  EXPECT_NE(findings_[0].find("hwmon5"), std::string::npos);
}

TEST_F(Ina3221AveragingTest, TheSensorsOfABoardTellWhatHolds) {
  class StoppedClock : public Clock {
   public:
    Time now() const override { return Time{}; }
  };
  const StoppedClock clock;
  BoardDescription board = board_.description();
  board.power.averaging = board.power.window;
  EXPECT_EQ(open_sensors(board, root_, clock).power_averaging.averaging, milliseconds(430));
  set("1", "1");
  const OpenedSensors opened = open_sensors(board, root_, clock);
  EXPECT_EQ(opened.power_averaging.averaging, Duration::zero());
  EXPECT_EQ(opened.power_averaging.window, milliseconds(430));
}

}  // namespace
}  // namespace gearshift
