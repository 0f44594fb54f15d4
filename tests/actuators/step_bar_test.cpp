#include "actuators/step_bar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "actuators/board_actuator.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/stopped_step.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

class StepBarTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }
  BoardActuatorOptions options() const {
    return {.journal = journal(), .guardian = {.step_patience = std::chrono::milliseconds(20)}};
  }
  std::unique_ptr<BoardActuator> owner_with_high_clocks() {
    auto owner = std::make_unique<BoardActuator>(description_, root_, options());
    fakes::apply_knob(*owner, "cpu_mhz", 2'201'600);
    fakes::apply_knob(*owner, "gpu_mhz", 1'300'500);
    board_.settle();
    return owner;
  }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
  const fakes::TickingClock clock_{};
  fakes::StoppedStep step_{description_, root_, clock_, journal()};
};

TEST_F(StepBarTest, WhatAStepWritesBehindARestoreIsSavedUntilItIsPutBackBehindTheStep) {
  const auto before = board_.bytes();
  auto owner = owner_with_high_clocks();
  step_.begin();
  try {
    owner->restore();
    FAIL() << "all is said to be back";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("step to the safe mode still goes on"),
              std::string::npos)
        << error.what();
  }
  board_.settle();
  EXPECT_EQ(board_.bytes(), before) << "for as long as the write does not return";
  EXPECT_TRUE(std::filesystem::exists(journal()));
  owner.reset();
  step_.go_on();
  board_.settle();
  EXPECT_NE(board_.bytes(), before);
  EXPECT_TRUE(restore_from_journal(root_, journal()).failed.empty());
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(StepBarTest, NobodyTakesAJournalOverWhileAStepGoesOn) {
  const auto before = board_.bytes();
  owner_with_high_clocks().reset();
  const auto left = board_.bytes();
  step_.begin();
  EXPECT_THROW(restore_from_journal(root_, journal(), std::chrono::milliseconds(20)), BusyError);
  EXPECT_THROW(BoardActuator(description_, root_, options()), BusyError);
  board_.settle();
  EXPECT_EQ(board_.bytes(), left);
  step_.go_on();
  const BoardActuator next(description_, root_, options());
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(StepBarTest, AStepEndsAtTheNextKnobBehindABar) {
  const auto owner = owner_with_high_clocks();
  step_.begin();
  const StepBar bar(journal(), std::chrono::milliseconds(0));
  EXPECT_FALSE(bar.clear());
  step_.go_on();
  EXPECT_TRUE(bar.clear());
  const bool gpu = board_.get(DirectoryBoard::gpu("max_freq")) == "1300500000";
  const bool cpu = board_.get(DirectoryBoard::policy(0) + "/scaling_max_freq") == "2201600";
  EXPECT_TRUE(gpu || cpu) << "it wrote both clocks";
}

}  // namespace
}  // namespace gearshift
