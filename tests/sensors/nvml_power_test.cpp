#include "sensors/nvml_power.h"

#include <gtest/gtest.h>

#include "sensors/open.h"
#include "tests/fakes/fake_gpus.h"
#include "tests/fakes/manual_clock.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

class NvmlPowerTest : public testing::Test {
 protected:
  NvmlPowerTest() { gpus_.add(0); }

  std::unique_ptr<NvmlPower> open() {
    findings_.clear();
    return NvmlPower::open(fakes::gpu_board().power, root_, findings_);
  }
  // Reads `ms` after the start, with so many millijoules on the counter.
  Reading read(NvmlPower& sensor, int ms, std::int64_t energy_mj) {
    gpus_.put("energy_mj", std::to_string(energy_mj));
    return read(sensor, ms);
  }
  Reading read(NvmlPower& sensor, int ms) {
    readings_.clear();
    sensor.read(at(ms), readings_);
    EXPECT_EQ(readings_.size(), 1u);
    return readings_.front();
  }
  static Time at(int ms) { return Time{} + milliseconds(10'000 + ms); }

  fakes::FakeGpus gpus_;
  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
  std::vector<std::string> findings_;
  std::vector<Reading> readings_;
};

TEST_F(NvmlPowerTest, IsTheMeanBetweenTwoMovesOfTheCounter) {
  const auto sensor = open();
  ASSERT_NE(sensor, nullptr);
  EXPECT_NE(findings_.at(0).find("energy counter"), std::string::npos) << findings_[0];
  const Reading first = read(*sensor, 0, 5000);
  EXPECT_EQ(first.state, ReadingState::missing);
  EXPECT_EQ(sensor->explain(first), "a power needs two readings of the energy counter");
  const Reading second = read(*sensor, 120, 5000 + 24'000);  // 24 J in 120 ms
  EXPECT_EQ(second.state, ReadingState::ok);
  EXPECT_EQ(second.value, 200'000);
  EXPECT_EQ(second.taken, at(120));
}

TEST_F(NvmlPowerTest, RepeatsItselfUntilTheCounterMovedAndALeastTimeIsOver) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  EXPECT_EQ(read(*sensor, 100, 15'000).value, 100'000);
  EXPECT_EQ(read(*sensor, 179, 30'000).taken, at(100));  // moved, too early
  EXPECT_EQ(read(*sensor, 260, 31'000).value, 100'000);  // 16 J in 160 ms
  EXPECT_EQ(read(*sensor, 400).taken, at(260));          // late enough, not moved
}

TEST_F(NvmlPowerTest, LooksAtACounterWhosePaceIsKnownOnlyWhenItIsDueToMove) {
  const auto sensor = open();
  int ms = 0;
  std::int64_t energy_mj = 5000;
  read(*sensor, ms, energy_mj);
  for (int moves = 0; moves < 8; ++moves) {
    for (int look = 0; look < 9; ++look) read(*sensor, ms += 10);
    read(*sensor, ms += 10, energy_mj += 20'000);
  }
  gpus_.put("lost", "error 15");  // a look would tell
  for (int look = 0; look < 8; ++look) {
    const Reading repeated = read(*sensor, ms += 10);
    EXPECT_EQ(repeated.state, ReadingState::ok);
    EXPECT_EQ(repeated.value, 200'000);
    EXPECT_EQ(repeated.taken, at(800));
  }
  EXPECT_EQ(read(*sensor, ms += 10).state, ReadingState::missing);
  EXPECT_EQ(read(*sensor, ms += 10).state, ReadingState::missing) << "looked at again";
}

TEST_F(NvmlPowerTest, FollowsACounterThatBecomesSlowerOrFaster) {
  const auto sensor = open();
  int ms = 0;
  std::int64_t energy_mj = 5000;
  for (const int pace_ms : {100, 20, 400, 100}) {
    for (int moves = 0; moves < 40; ++moves) {
      for (int look = 10; look < pace_ms; look += 10) read(*sensor, ms += 10);
      const Reading reading = read(*sensor, ms += 10, energy_mj += 200 * pace_ms);
      if (moves < 20) continue;
      // Between looks that wait for the slower pace, a move more or less may lie.
      EXPECT_NEAR(static_cast<double>(reading.value), 200e3, pace_ms == 20 ? 23e3 : 1) << pace_ms;
      EXPECT_LE(at(ms) - reading.taken, milliseconds(100)) << pace_ms << " ms";
    }
  }
}

TEST_F(NvmlPowerTest, ACounterThatStandsStillIsNotBelieved) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  read(*sensor, 100, 15'000);
  EXPECT_EQ(read(*sensor, 1100).value, 100'000);
  const Reading present = read(*sensor, 1101);
  EXPECT_EQ(present.value, 60'000);
  EXPECT_EQ(present.taken, at(1101));
}

// Neither its power nor its pace is a mean that the stand-still is in.
TEST_F(NvmlPowerTest, ACounterThatStoodStillIsCountedAnewFromItsNextMoveOn) {
  const auto sensor = open();
  int ms = 0;
  std::int64_t energy_mj = 5000;
  const auto move = [&](int of_mj) {
    for (int look = 0; look < 9; ++look) read(*sensor, ms += 10);
    return read(*sensor, ms += 10, energy_mj += of_mj);
  };
  read(*sensor, ms, energy_mj);
  for (int moves = 0; moves < 9; ++moves) EXPECT_EQ(move(20'000).value, 200'000);
  for (int look = 0; look < 40; ++look) read(*sensor, ms += 100);
  EXPECT_EQ(move(20'000).value, 60'000) << "the present power";
  for (int moves = 0; moves < 12; ++moves) {
    const Reading reading = move(20'000);
    EXPECT_EQ(reading.value, 200'000);
    EXPECT_EQ(reading.taken, at(ms));
  }
  for (int look = 0; look < 40; ++look) read(*sensor, ms += 100);
  EXPECT_EQ(move(820'000).value, 60'000) << "that it makes up for it says nothing of now";
  EXPECT_EQ(move(20'000).value, 200'000);
}

TEST_F(NvmlPowerTest, ACounterThatIsSeldomLookedAtDoesNotStandStill) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  EXPECT_EQ(read(*sensor, 2000, 5000 + 400'000).value, 200'000);
  EXPECT_EQ(read(*sensor, 4000, 5000 + 800'000).value, 200'000);
}

TEST_F(NvmlPowerTest, ACounterThatWentBackStartsAnew) {
  const auto sensor = open();
  read(*sensor, 0, 50'000);
  const Reading back = read(*sensor, 200, 100);
  EXPECT_EQ(back.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(back).find("driver was restarted"), std::string::npos);
  EXPECT_EQ(read(*sensor, 300, 10'100).value, 100'000);
}

TEST_F(NvmlPowerTest, WithoutACounterItIsThePresentPower) {
  gpus_.remove("energy_mj");
  const auto sensor = open();
  EXPECT_NE(findings_.at(0).find("present power"), std::string::npos) << findings_[0];
  EXPECT_EQ(read(*sensor, 0).value, 60'000);
  gpus_.put("capability", "8 6");
  open();
  EXPECT_NE(findings_.at(0).find("a mean over 1 s"), std::string::npos) << findings_[0];
}

TEST_F(NvmlPowerTest, ACounterThatEndsLeavesThePresentPowerUntilItIsBack) {
  const auto sensor = open();
  for (const char* gone : {"error 3", "error 13"}) {
    read(*sensor, 0, 5000);
    EXPECT_EQ(read(*sensor, 100, 15'000).value, 100'000);
    gpus_.put("energy_mj", gone);
    const Reading present = read(*sensor, 200);
    EXPECT_EQ(present.state, ReadingState::ok) << gone;
    EXPECT_EQ(present.value, 60'000);
    EXPECT_EQ(present.taken, at(200));
    EXPECT_EQ(read(*sensor, 300, 50'000).state, ReadingState::missing) << "the first of two";
    EXPECT_EQ(read(*sensor, 400, 60'000).value, 100'000);
    gpus_.put("energy_mj", "error 15");
    EXPECT_EQ(read(*sensor, 500).state, ReadingState::missing) << "a lost GPU";
  }
  gpus_.put("energy_mj", "error 3");
  gpus_.remove("power_instant");
  EXPECT_EQ(read(*sensor, 600).state, ReadingState::missing) << "nothing tells power";
}

TEST_F(NvmlPowerTest, ImplausiblePowerIsAbsurdAndTold) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  const Reading absurd = read(*sensor, 100, 5000 + 250'001);  // 2500.01 W
  EXPECT_EQ(absurd.state, ReadingState::absurd);
  EXPECT_EQ(sensor->explain(absurd), "2500010 mW is outside 0 to 2500000 mW");
  EXPECT_EQ(read(*sensor, 200, 5000 + 250'001 + 250'000).state, ReadingState::ok);
}

TEST_F(NvmlPowerTest, NoPowerAtAllIsAbsurd) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  const Reading nothing = read(*sensor, 3000, 5001);  // a millijoule in three seconds
  EXPECT_EQ(nothing.state, ReadingState::absurd);
  EXPECT_EQ(sensor->explain(nothing), "0 mW, which a GPU that runs cannot draw");
  EXPECT_EQ(read(*sensor, 3100, 15'001).value, 100'000);
  gpus_.put("power_instant", "0");
  EXPECT_EQ(read(*sensor, 4101).state, ReadingState::missing) << "the driver's own nothing";
}

TEST_F(NvmlPowerTest, ALostGpuIsMissingWithItsReasonAndComesBack) {
  const auto sensor = open();
  read(*sensor, 0, 5000);
  gpus_.put("lost", "error 15");
  const Reading lost = read(*sensor, 100);
  EXPECT_EQ(lost.state, ReadingState::missing);
  EXPECT_NE(sensor->explain(lost).find("GPU_IS_LOST"), std::string::npos) << sensor->explain(lost);
  gpus_.remove("lost");
  EXPECT_EQ(read(*sensor, 200, 5000).state, ReadingState::missing);
  EXPECT_EQ(read(*sensor, 300, 15'000).value, 100'000);
}

TEST_F(NvmlPowerTest, NvmlThatReportsNoPowerIsNoSource) {
  gpus_.remove("power_instant");
  EXPECT_EQ(open(), nullptr);
  EXPECT_NE(findings_.at(0).find("nvmlDeviceGetPowerUsage"), std::string::npos) << findings_[0];
}

TEST_F(NvmlPowerTest, ADriverThatIsLoadedLateIsFoundWithoutARestart) {
  gpus_.put_init("error 9");
  BoardDescription board = fakes::gpu_board();
  board.power.reads_block = false;  // no thread
  fakes::ManualClock clock;
  clock.time = {};
  OpenedSensors opened = open_sensors(board, root_, clock);
  EXPECT_EQ(opened.findings.back(), "power: NVML is tried every ten seconds");
  const auto read_at = [&](int ms) {
    readings_.clear();
    opened.sensors.at(0)->read(at(ms), readings_);
    return readings_.at(0);
  };
  const Reading missing = read_at(0);
  EXPECT_EQ(missing.state, ReadingState::missing);
  EXPECT_NE(opened.sensors[0]->explain(missing).find("DRIVER_NOT_LOADED"), std::string::npos);
  gpus_.put_init("0");
  EXPECT_NE(opened.sensors[0]->explain(read_at(9'990)).find("DRIVER_NOT_LOADED"),
            std::string::npos);
  EXPECT_EQ(opened.sensors[0]->explain(read_at(10'000)),
            "a power needs two readings of the energy counter");
  gpus_.put("energy_mj", "15000");
  EXPECT_EQ(read_at(10'100).value, 100'000);
}

}  // namespace
}  // namespace gearshift
