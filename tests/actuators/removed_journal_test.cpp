// What becomes of a journal, or of its lock, that somebody removes while a knob is set.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/holder_lock.h"
#include "actuators/knob_journal.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;

class RemovedJournalTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
};

TEST_F(RemovedJournalTest, OneThatSomebodyRemovesIsWrittenAnewAndLockedAnew) {
  const auto before = board_.bytes();
  const std::filesystem::path state = journal().parent_path();
  auto actuator = std::make_unique<BoardActuator>(board_.description(), root_,
                                                  BoardActuatorOptions{.journal = journal()});
  actuator->keep_journal();
  EXPECT_FALSE(std::filesystem::exists(journal())) << "nothing is set, so nothing is saved";
  apply_knob(*actuator, "gpu_mhz", 1300500);
  const std::string saved = state_.get("/state/knobs.journal");
  actuator->keep_journal();
  EXPECT_EQ(actuator->take_complaint(), "");
  for (const std::filesystem::path& removed : {journal(), state}) {
    std::filesystem::remove_all(removed);
    actuator->keep_journal();
    EXPECT_EQ(state_.get("/state/knobs.journal"), saved) << removed;
    EXPECT_NE(actuator->take_complaint().find("it is written anew"), std::string::npos);
    EXPECT_THROW(lock_journal(journal(), LockPurpose::writing), BusyError) << removed;
  }
  actuator.reset();
  EXPECT_TRUE(restore_from_journal(root_, journal()).failed.empty());
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(RemovedJournalTest, ALockAloneThatSomebodyRemovesIsLockedAnew) {
  BoardActuator actuator(board_.description(), root_, {.journal = journal()});
  apply_knob(actuator, "gpu_mhz", 1300500);
  const std::string saved = state_.get("/state/knobs.journal");
  std::filesystem::remove(journal().string() + ".lock");
  actuator.keep_journal();
  EXPECT_EQ(actuator.take_complaint(), "");
  EXPECT_EQ(state_.get("/state/knobs.journal"), saved);
  EXPECT_THROW(lock_journal(journal(), LockPurpose::writing), BusyError);
}

TEST_F(RemovedJournalTest, AnothersJournalIsNeverTakenForItsOwn) {
  KnobJournal own(root_, journal());
  own.save(SavedRole::limit_max, "/sys/a", "1");
  own.commit();
  const std::string saved = state_.get("/state/knobs.journal");
  std::filesystem::remove_all(journal().parent_path());
  {
    KnobJournal other(root_, journal());
    other.save(SavedRole::limit_max, "/sys/b", "2");
    other.commit();
    EXPECT_THROW(own.write_if_gone(), BusyError) << "it has the lock";
  }
  const std::string others = state_.get("/state/knobs.journal");
  for (int looks = 0; looks < 3; ++looks) EXPECT_THROW(own.write_if_gone(), BusyError) << looks;
  EXPECT_EQ(state_.get("/state/knobs.journal"), others);
  std::filesystem::remove(journal());
  EXPECT_TRUE(own.write_if_gone());
  EXPECT_EQ(state_.get("/state/knobs.journal"), saved);
  EXPECT_FALSE(own.write_if_gone());
}

TEST_F(RemovedJournalTest, OneThatCannotBeWrittenAnewIsToldOfOnce) {
  BoardActuator actuator(board_.description(), root_, {.journal = journal()});
  apply_knob(actuator, "gpu_mhz", 1300500);
  const std::filesystem::path state = journal().parent_path();
  std::filesystem::remove_all(state);
  state_.put("/state", "a file in its way");
  for (int looks = 0; looks < 3; ++looks) actuator.keep_journal();
  EXPECT_NE(actuator.take_complaint().find("it cannot be written anew"), std::string::npos);
  EXPECT_EQ(actuator.take_complaint(), "");
  std::filesystem::remove(state);
  actuator.keep_journal();
  EXPECT_NE(actuator.take_complaint().find("it is written anew"), std::string::npos);
}

}  // namespace
}  // namespace gearshift
