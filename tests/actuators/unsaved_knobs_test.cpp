// What happens to knobs whose files cannot be read, or not be saved, before the first write.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/guardian.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;
using fakes::knob_failure;

class UnsavedKnobs : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }
  BoardActuator make() { return BoardActuator(board_.description(), root_, {journal()}); }

  // Neither text nor an errno that a plain file could give: no number.
  void break_gpu() const { board_.put(gpu_max_, "broken"); }

  // A journal is first written beside itself: a folder is in the way there.
  void fill_disk() const { state_.folder("/state/knobs.journal.new"); }
  void empty_disk() const { state_.remove("/state/knobs.journal.new"); }

  const std::string gpu_max_ = DirectoryBoard::gpu("max_freq");
  const std::string policy_max_ = DirectoryBoard::policy(4) + "/scaling_max_freq";
  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
};

TEST_F(UnsavedKnobs, OneThatCannotBeSavedIsRefusedAndTheRestIsSetAndPutBack) {
  BoardActuator actuator = make();
  const auto before = board_.bytes();
  break_gpu();
  const std::string text = knob_failure(actuator, "gpu_mhz", 306000);
  EXPECT_NE(text.find("gpu_mhz: "), std::string::npos) << text;
  EXPECT_NE(text.find("max_freq"), std::string::npos) << text;
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("min_freq")), "306000000");
  apply_knob(actuator, "cpu_mhz", 2201600);
  apply_knob(actuator, "mem_mhz", 3199000);
  apply_knob(actuator, "cpu_cores", 4);
  EXPECT_EQ(board_.get(policy_max_), "2201600");
  board_.put(gpu_max_, before.at("/sys/devices/platform/bus@0/17000000.gpu/devfreq/17000000.gpu"
                                 "/max_freq"));
  actuator.restore();
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(UnsavedKnobs, OneThatCanBeReadLaterIsSavedAsItIsThen) {
  BoardActuator actuator = make();
  break_gpu();
  knob_failure(actuator, "gpu_mhz", 306000);
  apply_knob(actuator, "cpu_mhz", 2201600);
  board_.put(gpu_max_, "1109250000");
  apply_knob(actuator, "gpu_mhz", 306000);
  EXPECT_EQ(board_.get(gpu_max_), "306000000");
  actuator.restore();
  EXPECT_EQ(board_.get(gpu_max_), "1109250000");
  EXPECT_EQ(board_.get(policy_max_), "1728000");
}

TEST_F(UnsavedKnobs, NoneIsPutBackThatWasNeverWritten) {
  BoardActuator actuator = make();
  for (const int policy : {0, 4, 8}) {
    board_.put(DirectoryBoard::policy(policy) + "/scaling_max_freq", "broken");
  }
  break_gpu();
  fill_disk();  // the cores and the memory clock
  EXPECT_NE(knob_failure(actuator, "cpu_cores", 4), "no KnobError");
  board_.put(DirectoryBoard::cpu(7) + "/online", "0");  // by hand
  board_.put(DirectoryBoard::emc("rate"), "204000000");
  empty_disk();
  const auto by_hand = board_.bytes();
  actuator.restore();
  EXPECT_EQ(board_.bytes(), by_hand);
}

TEST_F(UnsavedKnobs, WhatAFullDiskTakesNoJournalOfIsNeitherWrittenNorPutBack) {
  BoardActuator actuator = make();
  fill_disk();
  EXPECT_NE(knob_failure(actuator, "cpu_mhz", 2201600).find("knob journal"), std::string::npos);
  EXPECT_EQ(root_.writes(), 0u);
  board_.put(gpu_max_, "1109250000");  // by hand
  actuator.restore();
  EXPECT_EQ(board_.get(gpu_max_), "1109250000");
  EXPECT_EQ(root_.writes(), 0u);
  EXPECT_FALSE(std::filesystem::exists(journal()));
  empty_disk();
  apply_knob(actuator, "gpu_mhz", 306000);
  actuator.restore();
  EXPECT_EQ(board_.get(gpu_max_), "1109250000") << "saved when there was room for it";
}

TEST_F(UnsavedKnobs, AClusterThatWakesOnAFullDiskDoesNotKeepTheOthersFromGoingDown) {
  const std::string woken = DirectoryBoard::policy(0);
  for (const char* file : {"/scaling_min_freq", "/scaling_max_freq"}) board_.remove(woken + file);
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 2201600);
  board_.put(woken + "/scaling_min_freq", "729600");
  board_.put(woken + "/scaling_max_freq", "1728000");
  fill_disk();
  EXPECT_NE(knob_failure(actuator, "cpu_mhz", 729600).find("knob journal"), std::string::npos);
  EXPECT_EQ(board_.get(woken + "/scaling_max_freq"), "1728000");
  EXPECT_EQ(board_.get(policy_max_), "729600");
  empty_disk();
  actuator.restore();
  EXPECT_EQ(board_.get(policy_max_), "1728000");
}

TEST_F(UnsavedKnobs, TheGuardiansStepSetsWhatTheDaemonHasSavedAndLeavesTheRestAlone) {
  BoardActuator owner = make();
  break_gpu();
  apply_knob(owner, "cpu_mhz", 2201600);
  board_.put(gpu_max_, "612000000");
  const fakes::TickingClock clock;
  const auto failed = step_to_safe_mode(board_.description(), root_, clock, journal());
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->find("gpu_mhz"), std::string::npos) << *failed;
  EXPECT_EQ(board_.get(policy_max_), "729600");
  EXPECT_EQ(board_.get(gpu_max_), "612000000");
  EXPECT_EQ(board_.get(DirectoryBoard::emc("rate")), "204000000");
}

}  // namespace
}  // namespace gearshift
