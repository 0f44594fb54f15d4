#include "actuators/guardian.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "actuators/board_actuator.h"
#include "actuators/step_bar.h"
#include "tests/actuators/slow_clock.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/proc_files.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;

// What the guardian's process says goes through a pipe to whoever reads the other end.
int told_pipe[2] = {-1, -1};
void tell_guard(const std::string& text) {
  [[maybe_unused]] const ssize_t size = write(told_pipe[1], text.data(), text.size());
}
std::string next_told() {
  char text[256];
  const ssize_t size = read(told_pipe[0], text, sizeof text);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

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

bool watches(Guardian& guardian) { return guardian.state() == GuardianState::watches; }

class GuardianTest : public testing::Test {
 protected:
  GuardianTest() {
    told_pipe[0] = told_pipe[1] = -1;
  }  // an earlier test's numbers are of other files now

  std::filesystem::path journal() const { return state_.at("/state/knobs.journal"); }

  void raise_clocks(BoardActuator& actuator) const {
    apply_knob(actuator, "cpu_mhz", 2201600);
    apply_knob(actuator, "gpu_mhz", 1300500);
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
                          {.journal = journal(), .patience = patience, .tell = tell_guard});
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

// What a process prints goes to whatever has the number of its standard output.
TEST_F(GuardianTest, TakesNoLineForAGoodbyeThatWasWrittenToItsLifelineByMistake) {
  const auto before = board_.bytes();
  const int status = run(std::chrono::seconds(60), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    int sockets = 0;
    for (int number = 0; number < 64; ++number) {
      struct stat info {};
      if (fstat(number, &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
      ++sockets;
      for (const std::string_view line : {"a quiet line\n", "q\n", "b"}) {
        if (write(number, line.data(), line.size()) < 0) _exit(1);
      }
    }
    if (sockets != 1) _exit(2);
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
  ASSERT_EQ(pipe(told_pipe), 0);
  const int status = run(std::chrono::milliseconds(50), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    const std::string text = next_told();
    if (text.find("the loop stands still") == std::string::npos) _exit(1);
    if (guardian.steps() != 1) _exit(2);
    if (board_.get(DirectoryBoard::gpu("max_freq")) != "306000000") _exit(3);
  });
  EXPECT_EQ(status, 0);
  close(told_pipe[0]);
  close(told_pipe[1]);
}

// As with `gearshift run 2>&1 | tee log`, where tee has gone.
TEST_F(GuardianTest, PutsEveryByteBackThoughNobodyReadsWhatItTells) {
  const auto before = board_.bytes();
  ASSERT_EQ(pipe(told_pipe), 0);
  close(told_pipe[0]);
  run(std::chrono::milliseconds(50), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    const auto stepped = [&] { return board_.get(DirectoryBoard::gpu("max_freq")) == "306000000"; };
    while (watches(guardian) && !stepped()) poll(nullptr, 0, 1);
    raise(SIGKILL);
  });
  close(told_pipe[1]);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
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

// The daemon was stopped, say, and goes on at the moment at which the guardian steps.
TEST_F(GuardianTest, WhatIsPutBackWhileTheGuardianStepsStaysPutBack) {
  const auto before = board_.bytes();
  BoardActuator owner(description_, root_, {journal()});
  raise_clocks(owner);
  const fakes::SlowClock slow;
  BoardDescription board = description_;
  board.apply_timeout = std::chrono::milliseconds(20);  // a core each
  const pid_t guardian = fork();
  if (guardian == 0) {
    step_to_safe_mode(board, root_, slow, journal());
    _exit(0);
  }
  for (int writes = 0; writes < 3; ++writes) slow.await_question();
  owner.restore();
  int status = 0;
  EXPECT_EQ(waitpid(guardian, &status, 0), guardian);
  EXPECT_EQ(status, 0);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GuardianTest, BehindABarItSetsNoSafeModeAndStillPutsEveryByteBack) {
  const auto before = board_.bytes();
  const int status = run(std::chrono::milliseconds(20), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    const StepBar bar(journal());
    const StepBar other(journal());
    guardian.beat();
    while (watches(guardian) && guardian.steps() == 0) poll(nullptr, 0, 1);
    poll(nullptr, 0, 50);
    if (board_.get(DirectoryBoard::gpu("max_freq")) != "1300500000") _exit(1);
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << "it did set the safe mode";
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(GuardianTest, WhatItsOwnStepWritesBehindTheDaemonItPutsBack) {
  const auto before = board_.bytes();
  root_.stop_at_write(1, SIGSTOP);
  const int status = run(std::chrono::milliseconds(20), [&](Guardian& guardian) {
    root_.stop_at_write(0);
    BoardActuator actuator(
        description_, root_,
        {.journal = journal(), .guardian = {.step_patience = std::chrono::milliseconds(20)}});
    raise_clocks(actuator);
    guardian.beat();
    while (watches(guardian)) poll(nullptr, 0, 1);
    try {
      actuator.restore();
    } catch (const KnobError&) {
      guardian.wake();
      _exit(2);
    }
  });
  EXPECT_EQ(WEXITSTATUS(status), 2) << "it took the step for ended";
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GuardianTest, KeepsNobodyFromEndingWhileItIsStopped) {
  const auto before = board_.bytes();
  const int status = run(std::chrono::seconds(60), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    const pid_t child = fakes::child_of(getpid());
    kill(child, SIGSTOP);
    while (watches(guardian)) poll(nullptr, 0, 1);
    if (guardian.state() != GuardianState::stopped) _exit(1);
    kill(child, SIGCONT);
    while (!watches(guardian)) poll(nullptr, 0, 1);
    kill(child, SIGSTOP);
    actuator.restore();
  });
  EXPECT_EQ(status, 0);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(GuardianTest, ToldIsOnceThatItIsStoppedAndThatItWasKilled) {
  Guardian guardian(description_, root_, clock_, {.journal = journal()});
  const pid_t child = fakes::child_of(getpid());
  const auto await = [&](GuardianState state) {
    while (guardian.state() != state) poll(nullptr, 0, 1);
  };
  EXPECT_EQ(guardian.take_news(), "");
  for (int times = 0; times < 2; ++times) {
    kill(child, SIGSTOP);
    await(GuardianState::stopped);
    EXPECT_NE(guardian.take_news().find("its guardian process is stopped"), std::string::npos);
    EXPECT_EQ(guardian.take_news(), "");
    kill(child, SIGCONT);
    await(GuardianState::watches);
    EXPECT_EQ(guardian.take_news(), "");
  }
  kill(child, SIGKILL);
  await(GuardianState::killed);
  EXPECT_NE(guardian.take_news().find("its guardian process was killed"), std::string::npos);
  EXPECT_EQ(guardian.take_news(), "");
}

TEST_F(GuardianTest, IsKilledWhereItDoesNotReactToTheEnd) {
  {
    Guardian guardian(description_, root_, clock_,
                      {.journal = journal(),
                       .patience = std::chrono::milliseconds(20),
                       .tell = [](const std::string&) { poll(nullptr, 0, -1); },
                       .farewell = std::chrono::milliseconds(20)});
    BoardActuator actuator(description_, root_, {journal()});
    raise_clocks(actuator);
    guardian.beat();
    while (board_.get(DirectoryBoard::gpu("max_freq")) != "306000000") poll(nullptr, 0, 1);
    actuator.restore();
  }
  EXPECT_EQ(fakes::child_of(getpid()), 0);
}

TEST_F(GuardianTest, SaysThatTheJournalIsGoneWhereKnobsAreSet) {
  ASSERT_EQ(pipe(told_pipe), 0);
  run(std::chrono::milliseconds(50), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_,
                           {.journal = journal(), .guardian = {.saved = &guardian.saved()}});
    raise_clocks(actuator);
    std::filesystem::remove_all(journal().parent_path());
    guardian.beat();
    while (watches(guardian) && guardian.steps() == 0) poll(nullptr, 0, 1);
    raise(SIGKILL);
  });
  close(told_pipe[1]);
  std::string text;
  for (std::string more = next_told(); !more.empty(); more = next_told()) text += more;
  close(told_pipe[0]);
  EXPECT_NE(text.find("no safe mode is set: somebody has removed"), std::string::npos) << text;
  EXPECT_NE(text.find("the daemon is gone; and somebody has removed"), std::string::npos) << text;
}

TEST_F(GuardianTest, SaysNothingOfAJournalThatIsGoneForAllIsBack) {
  ASSERT_EQ(pipe(told_pipe), 0);
  const int status = run(std::chrono::milliseconds(20), [&](Guardian& guardian) {
    BoardActuator actuator(description_, root_,
                           {.journal = journal(), .guardian = {.saved = &guardian.saved()}});
    raise_clocks(actuator);
    if (!guardian.saved()) _exit(1);
    actuator.restore();
    guardian.beat();
    while (watches(guardian) && guardian.steps() == 0) poll(nullptr, 0, 1);
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  close(told_pipe[1]);
  EXPECT_EQ(next_told(), "");
  close(told_pipe[0]);
}

TEST_F(GuardianTest, BesideAJournalNothingNewIsSavedAndSoNothingNewWritten) {
  {
    BoardActuator owner(description_, root_, {journal()});
    raise_clocks(owner);
  }
  KnobJournal beside(root_, journal(), JournalUse::beside);
  EXPECT_TRUE(beside.has(SavedRole::limit_max, DirectoryBoard::policy(0) + "/scaling_max_freq"));
  beside.commit();
  EXPECT_THROW(beside.save(SavedRole::limit_max, "/sys/new", "1"), std::runtime_error);
  beside.commit();
  const std::string saved = state_.get("/state/knobs.journal");
  beside.forget(SavedRole::limit_max, DirectoryBoard::policy(0) + "/scaling_max_freq");
  EXPECT_EQ(state_.get("/state/knobs.journal"), saved);
}

}  // namespace
}  // namespace gearshift
