#include "actuators/guardian.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "actuators/board_actuator.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::DirectoryBoard;

TEST(StallWatch, SaysOnceThatALoopStandsStillAndAgainOnlyAfterItWentOn) {
  StallWatch watch(3);
  EXPECT_FALSE(watch.look(1));
  EXPECT_FALSE(watch.look(1));
  EXPECT_FALSE(watch.look(1));
  EXPECT_TRUE(watch.look(1)) << "the third look without a beat";
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(watch.look(1));
  EXPECT_FALSE(watch.look(2));
  EXPECT_FALSE(watch.look(2));
  EXPECT_FALSE(watch.look(2));
  EXPECT_TRUE(watch.look(2));
}

TEST(StallWatch, ALoopThatHasNotBegunDoesNotStandStill) {
  StallWatch watch(2);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(watch.look(0));
}

TEST(StallWatch, ABeatAtTheLastLookIsInTime) {
  StallWatch watch(2);
  for (std::uint64_t beats = 1; beats < 10; ++beats) {
    EXPECT_FALSE(watch.look(beats));
    EXPECT_FALSE(watch.look(beats));
  }
}

class GuardianTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  static void apply(BoardActuator& actuator, std::string_view name, std::int64_t value) {
    const auto knob = actuator.knobs().find(name);
    ASSERT_TRUE(knob);
    while (actuator.write(*knob, value) == Progress::more) {
    }
  }

  void raise_clocks(BoardActuator& actuator) const {
    apply(actuator, "cpu_mhz", 2201600);
    apply(actuator, "gpu_mhz", 1300500);
    board_.settle();
  }

  // Runs `daemon` in a process of its own, beside a guardian of `patience`, and returns its exit
  // status when both processes have ended.
  int run(Duration patience, const std::function<void(Guardian&)>& daemon) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      {
        Guardian guardian(description_, root_, clock_,
                          {.journal = journal(), .patience = patience});
        daemon(guardian);
      }
      _exit(0);
    }
    close(ends[1]);
    char none = 0;
    EXPECT_EQ(read(ends[0], &none, 1), 0) << "both have closed the other end";
    close(ends[0]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
  const fakes::TickingClock clock_;
};

TEST_F(GuardianTest, PutsEveryByteBackWhenTheDaemonIsKilled) {
  const auto before = board_.bytes();
  const int status = run(std::chrono::seconds(60), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GuardianTest, TouchesNothingWhereTheDaemonEndsByItselfAndKeepsItsSetting) {
  const int status = run(std::chrono::seconds(60), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1300500000");
  EXPECT_TRUE(std::filesystem::exists(journal()));
}

TEST_F(GuardianTest, LeavesABoardAloneThatNoKnobWasWrittenOf) {
  const auto before = board_.bytes();
  run(std::chrono::seconds(60), [](Guardian&) { raise(SIGKILL); });
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(GuardianTest, StepsToTheSafeModeWhenTheLoopStandsStill) {
  const int status = run(std::chrono::milliseconds(50), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    while (guardian.steps() == 0) poll(nullptr, 0, 1);
    // It steps behind counting; a death after that puts everything back.
    while (board_.get(DirectoryBoard::gpu("max_freq")) != "306000000") poll(nullptr, 0, 1);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(GuardianTest, TheSafeModeIsSetBesideAnotherProcessesJournal) {
  const auto before = board_.bytes();
  BoardActuator owner(description_, root_, {journal()});
  raise_clocks(owner);
  const std::string saved = state_.get("/state/knobs.journal");

  step_to_safe_mode(description_, root_, clock_, journal());

  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("min_freq")), "306000000");
  EXPECT_EQ(board_.get(DirectoryBoard::policy(0) + "/scaling_max_freq"), "729600");
  EXPECT_EQ(state_.get("/state/knobs.journal"), saved);
  owner.restore();
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

// What a guardian has between taking the lock of a dead daemon and writing its own pid.
TEST_F(GuardianTest, ALockThatStillNamesADeadDaemonIsWaitedFor) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    {
      const JournalLock lock(journal(), JournalLock::Purpose::writing);
      state_.put("/state/knobs.journal.lock", std::to_string(dead));
      [[maybe_unused]] const ssize_t told = write(ends[1], "x", 1);
      poll(nullptr, 0, 30);
    }
    _exit(0);
  }
  char told = 0;
  ASSERT_EQ(read(ends[0], &told, 1), 1);
  EXPECT_NO_THROW(JournalLock(journal(), JournalLock::Purpose::writing));
  EXPECT_EQ(waitpid(holder, nullptr, 0), holder);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(GuardianTest, BesideAJournalNothingNewIsSavedAndSoNothingNewWritten) {
  {
    BoardActuator owner(description_, root_, {journal()});
    raise_clocks(owner);
  }
  KnobJournal beside(root_, journal(), JournalUse::beside);
  EXPECT_TRUE(beside.has(SavedRole::limit_max, DirectoryBoard::policy(0) + "/scaling_max_freq"));
  beside.commit();
  beside.save(SavedRole::limit_max, "/sys/new", "1");
  EXPECT_THROW(beside.commit(), std::runtime_error);
}

}  // namespace
}  // namespace gearshift
