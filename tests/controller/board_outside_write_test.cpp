// What another program does to the knobs of a board, before, while and after they are set here.
#include <gtest/gtest.h>

#include <utility>

#include "tests/fakes/bent_board.h"
#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using fakes::mode_of;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using BoardOutsideWriteTest = fakes::BentBoardTest;

constexpr Duration kWriteTimeout = std::chrono::seconds(3);  // that of fake_traits()

TEST_F(BoardOutsideWriteTest, BlamesNobodyElseForAChangeThatTimedOut) {
  board_.begin(mode_of({2, 200000, 20000, 200000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applied);
  actuator_->never_done = true;
  board_.begin(mode_of({1, 100000, 20000, 100000, 200000}), at({}));
  board_.advance(at({}));
  ASSERT_EQ(board_.advance(at(kWriteTimeout * 2)), ApplyState::timed_out);
  EXPECT_FALSE(board_.outside_write()) << "the clocks are lower by our own writes";
  hardware_.values[4] = 300000;
  ASSERT_TRUE(board_.outside_write());
  EXPECT_EQ(board_.outside_write()->knob, 4U);
}

// Nothing was known of them before.
TEST_F(BoardOutsideWriteTest, BlamesNobodyElseForCoresThatDidNotGoInTime) {
  actuator_->never_done = true;
  hardware_.ignore = "cpu_cores";
  board_.begin(mode_of({1, 200000, 20000, 200000, 200000}), at({}));
  board_.advance(at({}));
  ASSERT_EQ(board_.advance(at(kWriteTimeout * 2)), ApplyState::timed_out);
  EXPECT_FALSE(board_.outside_write());
  hardware_.values[0] = 3;
  const auto write = board_.outside_write();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->knob, 0U);
  EXPECT_EQ(write->ours, 2);
}

TEST_F(BoardOutsideWriteTest, FindsAndDescribesAnOutsideWrite) {
  board_.begin(mode_of({2, 200000, 20000, 300000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_FALSE(board_.outside_write());
  hardware_.values[3] = 123456;  // need not be one of the knob's values
  const auto write = board_.outside_write();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->knob, 3U);
  EXPECT_EQ(write->theirs, 123456);
  EXPECT_EQ(board_.describe(*write),
            "gpu_mhz: reads 123.456, below the 300 we had set: the board throttles, or another "
            "program wrote it; set again");
  EXPECT_TRUE(board_.outside_write()) << "it stays found until the knob is set again";
  board_.begin(mode_of({2, 200000, 20000, 300000, 200000}), at({}));
  EXPECT_FALSE(board_.outside_write()) << "not while a change is under way";
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_FALSE(board_.outside_write());
  EXPECT_EQ(hardware_.values[3], 300000);
}

TEST_F(BoardOutsideWriteTest, FindsTheFirstOfSeveralOutsideWrites) {
  board_.begin(mode_of({2, 200000, 20000, 200000, 200000}), at({}));
  board_.advance(at({}));
  hardware_.values[4] = 100000;
  hardware_.values[1] = 300000;
  ASSERT_TRUE(board_.outside_write());
  EXPECT_EQ(board_.outside_write()->knob, 1U);
}

TEST_F(BoardOutsideWriteTest, TellsOfAnOutsideWriteThatTheNextChangeBeginsOver) {
  board_.begin(mode_of({2, 200000, 20000, 200000, 200000}), at({}));
  board_.advance(at({}));
  EXPECT_FALSE(board_.overwritten());
  hardware_.values[3] = 100000;
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  const auto write = board_.overwritten();
  ASSERT_TRUE(write) << "though it is what is wanted now";
  EXPECT_EQ(write->knob, 3U);
  EXPECT_EQ(write->ours, 200000);
  EXPECT_EQ(write->theirs, 100000);
  EXPECT_FALSE(board_.overwritten()) << "once";
}

TEST_F(BoardOutsideWriteTest, TellsOfAnOutsideWriteToAKnobThatWaitsForItsTurn) {
  board_.begin(mode_of({4, 200000, 20000, 300000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applying) << "cores come first";
  hardware_.values[3] = 100000;
  finish();
  EXPECT_EQ(hardware_.values[3], 300000);
  const auto write = board_.overwritten();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->knob, 3U);
  EXPECT_EQ(write->theirs, 100000);
}

TEST_F(BoardOutsideWriteTest, TellsOfAnOutsideWriteToAKnobThatHasHadItsTurn) {
  bool once = true;
  actuator_->after_write = [&](const std::string& name) {
    if (name == "power_limit_w" && std::exchange(once, false)) hardware_.values[3] = 300000;
  };
  board_.begin(mode_of({2, 200000, 10000, 100000, 200000}), at({}));
  finish();
  EXPECT_EQ(hardware_.values[3], 100000);
  const auto write = board_.overwritten();
  ASSERT_TRUE(write);
  EXPECT_EQ(write->knob, 3U);
  EXPECT_EQ(write->ours, 100000);
  EXPECT_EQ(write->theirs, 300000);
}

TEST_F(BoardOutsideWriteTest, TakesNeitherWhatCoresBringNorWhatFollowsLateForAnOutsideWrite) {
  bool once = true;
  actuator_->after_write = [&](const std::string& name) {
    if (name == "cpu_cores") hardware_.values[1] = 300000;
    if (name == "gpu_mhz" && std::exchange(once, false)) hardware_.values[3] = 200000;
  };
  board_.begin(mode_of({4, 100000, 20000, 300000, 200000}), at({}));
  finish();
  EXPECT_EQ(hardware_.values[1], 100000);
  EXPECT_EQ(hardware_.values[3], 300000);
  EXPECT_FALSE(board_.overwritten());
}

// What it is called says nothing.
TEST_F(BoardOutsideWriteTest, TellsAKnobThatFollowsCoresByItsTraitAndNotByItsName) {
  for (const bool follows : {true, false}) {
    hardware_ = fakes::five_knobs();
    hardware_.space.knobs[1].name = follows ? "big_mhz" : "cpu_mhz";
    hardware_.space.knobs[1].follows_cores = follows;
    actuator_->after_write = [&](const std::string& name) {
      if (name == "cpu_cores") hardware_.values[1] = 300000;
    };
    board_.begin(mode_of({4, 100000, 20000, 200000, 200000}), at({}));
    finish();
    EXPECT_EQ(hardware_.values[1], 100000);
    EXPECT_EQ(board_.overwritten().has_value(), !follows);
  }
}

// The clock itself may follow its limits a millisecond after they were written.
TEST_F(BoardOutsideWriteTest, DoesNotTakeAClockThatFollowsBetweenTwoCallsForAnOutsideWrite) {
  actuator_->after_write = [&](const std::string& name) {
    if (name == "gpu_mhz") hardware_.values[3] = 200000;
  };
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applying) << "it reads what it was";
  hardware_.values[3] = 100000;
  EXPECT_EQ(board_.advance(at(milliseconds(1))), ApplyState::applied);
  EXPECT_FALSE(board_.overwritten());
  EXPECT_FALSE(board_.outside_write());
  EXPECT_EQ(hardware_.writes.size(), 1U) << "nor is it written again";
}

// So may one whose change was replaced by the next before it did.
TEST_F(BoardOutsideWriteTest, DoesNotTakeAClockThatFollowsTheChangeBeforeForAnOutsideWrite) {
  actuator_->after_write = [&](const std::string& name) {
    if (name == "gpu_mhz") hardware_.values[3] = 200000;
  };
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applying);
  board_.begin(mode_of({4, 200000, 20000, 300000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applying) << "cores come first";
  hardware_.values[3] = 100000;
  actuator_->after_write = nullptr;
  finish();
  EXPECT_EQ(hardware_.values[3], 300000);
  EXPECT_FALSE(board_.overwritten());
}

TEST_F(BoardOutsideWriteTest, DoesNotTakeItsOwnWriteThatIsAnsweredLateForAnOutsideWrite) {
  actuator_->answered_late = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(finish(), 2);
  EXPECT_FALSE(board_.overwritten());
}

TEST_F(BoardOutsideWriteTest, DoesNotTakeAnUnreadableKnobForAnOutsideWrite) {
  board_.begin(mode_of({2, 200000, 20000, 200000, 200000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applied);
  actuator_->unreadable = "gpu_mhz";
  EXPECT_FALSE(board_.outside_write());
}

// A memory clock that nobody has locked follows the load.
TEST_F(BoardOutsideWriteTest, BlamesNobodyForAKnobThatRefusedWhatWeWrote) {
  actuator_->refuse = {"mem_mhz"};
  board_.begin(mode_of({2, 100000, 20000, 100000, 100000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::refused);
  hardware_.values[4] = 300000;
  EXPECT_FALSE(board_.outside_write());
  hardware_.values[3] = 300000;
  ASSERT_TRUE(board_.outside_write()) << "but for one that was set";
  EXPECT_EQ(board_.outside_write()->knob, 3U);
  // Nor where the next change finds it elsewhere.
  hardware_.values[4] = 200000;
  board_.begin(mode_of({2, 100000, 20000, 100000, 100000}), at({}));
  EXPECT_EQ(board_.overwritten()->knob, 3U);
  hardware_.values[4] = 300000;
  board_.advance(at(milliseconds(100)));
  EXPECT_FALSE(board_.overwritten());
  actuator_->refuse = {};
  board_.begin(mode_of({2, 100000, 20000, 100000, 100000}), at({}));
  ASSERT_EQ(board_.advance(at({})), ApplyState::applied);
  hardware_.values[4] = 300000;
  ASSERT_TRUE(board_.outside_write()) << "once it is set it is ours";
}

}  // namespace
}  // namespace gearshift
