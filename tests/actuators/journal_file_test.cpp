#include "actuators/journal_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "actuators/board_actuator.h"
#include "actuators/step_bar.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;

// With a folder that is read-only indeed: tests/process/test_read_only_state.py.
class JournalFileTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return folder_.at("/state/knobs.journal"); }

  // What a daemon left that was killed.
  void leave_journal(Sysroot& root) const {
    BoardActuator actuator(board_.description(), root, {journal()});
    apply_knob(actuator, "gpu_mhz", 306000);
  }

  DirectoryBoard board_;
  fakes::TempTree folder_;
};

TEST_F(JournalFileTest, AMarkIsOfOneFileAndNotOfTheNextThatReadsTheSame) {
  std::filesystem::create_directories(folder_.at("/state"));
  EXPECT_FALSE(was_put_back(journal())) << "there is none";
  replace_journal_file(journal(), "text\n");
  EXPECT_FALSE(was_put_back(journal()));
  ASSERT_TRUE(mark_put_back(journal()));
  EXPECT_TRUE(was_put_back(journal()));
  EXPECT_TRUE(was_put_back(journal())) << "asked again";
  replace_journal_file(journal(), "text\n");
  EXPECT_FALSE(was_put_back(journal()));
  ASSERT_TRUE(mark_put_back(journal()));
  EXPECT_TRUE(remove_journal_file(journal()));
  EXPECT_FALSE(was_put_back(journal()));
  EXPECT_TRUE(remove_journal_file(journal())) << "gone is gone";
}

TEST_F(JournalFileTest, AMarkHoldsForTheTextThatWasMarkedAlone) {
  std::filesystem::create_directories(folder_.at("/state"));
  replace_journal_file(journal(), "text\n");
  struct stat before {};
  ASSERT_EQ(stat(journal().c_str(), &before), 0);
  ASSERT_TRUE(mark_put_back(journal()));
  folder_.put("/state/knobs.journal", "tort\n");
  const timespec times[2] = {before.st_atim, before.st_mtim};  // as if the clock stood still
  ASSERT_EQ(utimensat(AT_FDCWD, journal().c_str(), times, 0), 0);
  EXPECT_FALSE(was_put_back(journal()));
  remove_journal_file(journal());
}

TEST_F(JournalFileTest, WhatWasPutBackIsNotPutBackAgainOverWhatPeopleSetSince) {
  Sysroot root(board_.root());
  leave_journal(root);
  ASSERT_TRUE(mark_put_back(journal()));
  board_.put(DirectoryBoard::gpu("max_freq"), "1109250000");
  EXPECT_FALSE(Step(journal()).allowed()) << "no safe mode beside it: nobody would undo it";
  const RestoreReport report = restore_from_journal(root, journal());
  EXPECT_TRUE(report.restored.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("was put back already"), std::string::npos) << report.notes[0];
  EXPECT_EQ(report.unremoved, "");
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1109250000");
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(JournalFileTest, ADaemonThatStartsBesideAMarkedJournalSavesAnew) {
  Sysroot root(board_.root());
  leave_journal(root);
  ASSERT_TRUE(mark_put_back(journal()));
  board_.put(DirectoryBoard::gpu("max_freq"), "1109250000");
  {
    BoardActuator actuator(board_.description(), root, {journal()});
    EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1109250000");
    apply_knob(actuator, "gpu_mhz", 306000);
    EXPECT_FALSE(was_put_back(journal()));
    EXPECT_TRUE(Step(journal()).allowed());
  }
  EXPECT_TRUE(restore_from_journal(root, journal()).failed.empty());
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1109250000");
}

}  // namespace
}  // namespace gearshift
