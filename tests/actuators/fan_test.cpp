#include "actuators/fan.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "actuators/board_actuator.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

const std::string kDuty = "/sys/class/hwmon/hwmon5/pwm1";
const std::string kSwitch = "/sys/class/hwmon/hwmon5/pwm1_enable";
const std::string kDutyOfJetPack4 = "/sys/devices/pwm-fan/target_pwm";
const std::string kSwitchOfJetPack4 = "/sys/devices/pwm-fan/temp_control";

class FanTest : public testing::Test {
 protected:
  void put_fan(const char* duty, const char* fan_switch) const {
    board_.put("/sys/class/hwmon/hwmon5/name", "pwmfan");
    board_.put(kDuty, duty);
    board_.put(kSwitch, fan_switch);
  }
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  // A daemon in a process of its own pins the fan, sets a clock and puts all back. It is killed
  // right before write `n`; false where it ended before it got there.
  bool killed_at(std::uint64_t n) const {
    const pid_t child = fork();
    if (child == 0) {
      Sysroot root(board_.root());
      root.stop_at_write(n);
      BoardActuator actuator(board_.description(), root, {journal()});
      actuator.pin_fan();
      actuator.write(*actuator.knobs().find("gpu_mhz"), 306000);
      actuator.restore();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL) << WTERMSIG(status);
    return WIFSIGNALED(status);
  }

  fakes::DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
};

TEST_F(FanTest, IsAtFullSpeedUntilTheKnobsArePutBack) {
  put_fan("88", "2");
  const auto before = board_.bytes();
  BoardActuator actuator(board_.description(), root_, {journal()});
  const FanPin fan = actuator.pin_fan();
  EXPECT_EQ(fan.finding(), "fan: at full speed, " + kDuty);
  EXPECT_EQ(root_.read(kDuty), "255");
  EXPECT_EQ(root_.read(kSwitch), "1");
  EXPECT_FALSE(fan.lost());
  root_.write(kDuty, "60");
  EXPECT_TRUE(fan.lost());
  actuator.restore();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(FanTest, OfJetPack4) {
  board_.put(kDutyOfJetPack4, "0");
  board_.put(kSwitchOfJetPack4, "1");
  const auto before = board_.bytes();
  BoardActuator actuator(board_.description(), root_, {journal()});
  actuator.pin_fan();
  EXPECT_EQ(root_.read(kDutyOfJetPack4), "255");
  EXPECT_EQ(root_.read(kSwitchOfJetPack4), "0");
  actuator.restore();
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(FanTest, AKillAtAnyWriteLeavesAJournalThatRestoresTheFan) {
  for (const char* fan_switch : {"1", "2"}) {
    put_fan("88", fan_switch);
    const auto before = board_.bytes();
    std::uint64_t n = 1;
    for (; killed_at(n); ++n) {
      const RestoreReport report = restore_from_journal(root_, journal());
      EXPECT_TRUE(report.failed.empty()) << report.failed[0];
      ASSERT_EQ(board_.bytes(), before) << "killed at write " << n << ", switch " << fan_switch;
      ASSERT_FALSE(std::filesystem::exists(journal()));
    }
    EXPECT_GT(n, 5u) << "pinned, a clock set, both put back";
    EXPECT_EQ(board_.bytes(), before);
  }
}

TEST_F(FanTest, TheNextDaemonPutsBackTheFanOfAKilledOne) {
  put_fan("88", "1");
  const auto before = board_.bytes();
  ASSERT_TRUE(killed_at(2));
  ASSERT_EQ(root_.read(kDuty), "255");
  const BoardActuator actuator(board_.description(), root_, {journal()});
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(FanTest, ADutyHasToHoldUnlessTheKernelHasTheFanAgain) {
  for (const char* fan_switch : {"1", "2"}) {
    put_fan("88", fan_switch);
    ASSERT_TRUE(killed_at(fan_switch == std::string("1") ? 2 : 3));
    ASSERT_EQ(root_.read(kDuty), "255");
    // Where the file is gone, no write and no read succeeds.
    board_.remove(kDuty);
    const RestoreReport report = restore_from_journal(root_, journal());
    EXPECT_EQ(report.failed.size(), fan_switch == std::string("1") ? 1u : 0u);
    EXPECT_EQ(root_.read(kSwitch), fan_switch);
    state_.remove("/state/knobs.journal");
  }
}

TEST_F(FanTest, ThatIsNotThereOrCannotBeSavedOrWrittenIsTold) {
  board_.remove("/sys/class/hwmon/hwmon0");
  BoardActuator actuator(board_.description(), root_, {journal()});
  EXPECT_EQ(actuator.pin_fan().finding(), "fan: none found");
  board_.put("/sys/class/hwmon/hwmon5/name", "pwmfan");
  const FanPin without_duty = actuator.pin_fan();
  EXPECT_NE(without_duty.finding().find("fan: not pinned: "), std::string::npos);
  EXPECT_NE(without_duty.finding().find("hwmon5/pwm1"), std::string::npos);
  EXPECT_FALSE(without_duty.lost());

  put_fan("88", "2");
  state_.remove("/state");
  state_.put("/state", "no folder");
  const FanPin unsaved = actuator.pin_fan();
  EXPECT_NE(unsaved.finding().find("--state"), std::string::npos) << unsaved.finding();
  EXPECT_EQ(root_.read(kDuty), "88");
  EXPECT_EQ(root_.writes(), 0u);
}

TEST_F(FanTest, OfABoardWithoutAKnobIsLeftAlone) {
  put_fan("88", "2");
  BoardDescription board = board_.description();
  board.knobs.clear();
  BoardActuator actuator(board, root_, {journal()});
  EXPECT_NE(actuator.pin_fan().finding().find("no knob can be set here"), std::string::npos);
  EXPECT_EQ(root_.writes(), 0u);
}

}  // namespace
}  // namespace gearshift
