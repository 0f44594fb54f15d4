#include "actuators/holder_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "actuators/board_actuator.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/file_mode.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;

std::string refusal(const std::function<void()>& takes) {
  try {
    takes();
  } catch (const BusyError& error) {
    return error.what();
  }
  return "";
}

class HolderLockTest : public testing::Test {
 protected:
  std::filesystem::path journal(const std::string& folder) const {
    return folder_.at("/" + folder + "/knobs.journal");
  }
  BoardActuator actuator(Sysroot& root, const std::string& folder) {
    return BoardActuator(board_.description(), root, {journal(folder)});
  }

  DirectoryBoard board_;
  fakes::TempTree folder_;
  Sysroot root_{board_.root()};
};

TEST_F(HolderLockTest, SaysWhoHoldsItAndKeepsALineForTheNext) {
  std::filesystem::create_directories(folder_.at("/locks"));
  const std::filesystem::path path = folder_.at("/locks/one.lock");
  {
    HolderLock lock(path, LockPurpose::writing, "has it");
    EXPECT_EQ(lock.line_before(), "");
    lock.write_line("/state/one");
    const std::string why = refusal([&path] { HolderLock(path, LockPurpose::writing, "has it"); });
    EXPECT_NE(why.find("pid " + std::to_string(getpid()) + ") has it;"), std::string::npos) << why;
  }
  HolderLock next(path, LockPurpose::writing, "has it");
  EXPECT_EQ(next.line_before(), "/state/one") << "it goes with the holder only where that says so";
  HolderLock moved(std::move(next));
  EXPECT_NE(refusal([&path] { HolderLock(path, LockPurpose::restoring, "has it"); }), "");
}

// The file may be another user's, and what is told goes to a terminal.
TEST_F(HolderLockTest, OfAHolderNothingIsToldButItsNumber) {
  folder_.folder("/locks");
  const std::filesystem::path path = folder_.at("/locks/one.lock");
  const HolderLock lock(path, LockPurpose::writing, "has it");
  for (const std::string text : {"1\x1b]0;owned\a", "\x1b[2J", "1 restoring\x1b[2J", ""}) {
    folder_.put("/locks/one.lock", text + "\n/state/one");
    const std::string why = refusal([&path] { HolderLock(path, LockPurpose::writing, "has it"); });
    EXPECT_TRUE(why.starts_with("another gearshift (pid unknown) has it;")) << why;
  }
}

// The folder's mode says who may remove the journal.
TEST_F(HolderLockTest, TheJournalsFolderIsMadeForItsOwnerToWriteWhateverTheUmask) {
  const mode_t before = umask(0);
  { const BoardActuator one = actuator(root_, "above/state"); }
  umask(0077);
  { const BoardActuator one = actuator(root_, "closed"); }
  umask(before);
  EXPECT_EQ(fakes::mode_of(folder_.at("/above")), 0755U);
  EXPECT_EQ(fakes::mode_of(folder_.at("/above/state")), 0755U);
  EXPECT_EQ(fakes::mode_of(folder_.at("/closed")), 0700U);
}

TEST_F(HolderLockTest, ThatOthersMayWriteTheJournalsFolderIsToldOnce) {
  for (const auto& [mode, told] :
       {std::pair{0777U, true}, {0770U, true}, {01777U, false}, {0755U, false}}) {
    const std::filesystem::path state = folder_.at("/state");
    std::filesystem::create_directories(state);
    ASSERT_EQ(chmod(state.c_str(), mode), 0);
    BoardActuator one = actuator(root_, "state");
    const std::string complaint = one.take_complaint();
    EXPECT_EQ(complaint.starts_with("other users may write " + state.string()), told)
        << std::oct << mode << ": " << complaint;
    EXPECT_EQ(one.take_complaint(), "");
    apply_knob(one, "gpu_mhz", 306000);
    one.restore();
  }
}

// Whom a folder belongs to may remove what is in it, whatever its mode.
TEST_F(HolderLockTest, ThatTheJournalsFolderBelongsToAnotherUserIsToldOnce) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  const std::filesystem::path state = folder_.at("/state");
  for (const mode_t mode : {0755U, 01777U}) {
    std::filesystem::create_directories(state);
    ASSERT_EQ(chmod(state.c_str(), mode), 0);
    ASSERT_EQ(chown(state.c_str(), 65534, 65534), 0);
    BoardActuator one = actuator(root_, "state");
    EXPECT_EQ(one.take_complaint(), "user 65534 may write " + state.string() +
                                        ", and so remove the journal that the knobs are put back "
                                        "from; chown it to user 0")
        << std::oct << mode;
    EXPECT_EQ(one.take_complaint(), "");
  }
}

TEST_F(HolderLockTest, ABoardIsSetByOneWhateverItsStateFolder) {
  {
    BoardActuator first = actuator(root_, "first");
    const std::string why = refusal([this] { actuator(root_, "second"); });
    EXPECT_NE(why.find("pid " + std::to_string(getpid())), std::string::npos) << why;
    EXPECT_NE(why.find(board_.root().string() + ", with another state folder"), std::string::npos)
        << why;
    apply_knob(first, "gpu_mhz", 306000);
    first.restore();
  }
  EXPECT_EQ(lock_board(root_, LockPurpose::writing).line_before(), "");
  actuator(root_, "second");  // nothing is left to put back
}

TEST_F(HolderLockTest, ALineWithoutItsJournalIsForgottenByARestore) {
  {
    HolderLock lock = lock_board(root_, LockPurpose::writing);
    lock.write_line(journal("first").string());
  }
  restore_from_journal(root_, journal("second"));
  EXPECT_EQ(lock_board(root_, LockPurpose::writing).line_before(), journal("first"));
  restore_from_journal(root_, journal("first"));
  EXPECT_EQ(lock_board(root_, LockPurpose::writing).line_before(), "");
}

TEST_F(HolderLockTest, WhatADeadOneLeftInAnotherFolderIsPutBackFirst) {
  const std::string found = board_.get(DirectoryBoard::gpu("max_freq"));
  {
    BoardActuator first = actuator(root_, "first");
    apply_knob(first, "gpu_mhz", 306000);  // and dies
  }
  const std::string why = refusal([this] { actuator(root_, "second"); });
  EXPECT_NE(why.find("gearshift restore --state " + folder_.at("/first").string()),
            std::string::npos)
      << why;
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
  restore_from_journal(root_, journal("first"));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), found);
  actuator(root_, "second");
}

// A tree that is where another one was: what is saved is of that.
TEST_F(HolderLockTest, AnotherBoardsJournalKeepsNobodyOut) {
  {
    BoardActuator first = actuator(root_, "first");
    apply_knob(first, "gpu_mhz", 306000);
  }
  for (const std::string text : {"no journal", ""}) {
    std::ofstream(journal("first")) << text;
    actuator(root_, "second");
    HolderLock lock = lock_board(root_, LockPurpose::writing);
    lock.write_line(journal("first").string());
  }
}

TEST_F(HolderLockTest, NothingIsPutBackUnderADaemonThatSetsTheBoard) {
  {
    BoardActuator first = actuator(root_, "first");
    apply_knob(first, "gpu_mhz", 306000);
  }
  std::filesystem::create_directories(folder_.at("/copy"));
  std::filesystem::copy_file(journal("first"), journal("copy"));
  const BoardActuator daemon = actuator(root_, "first");  // puts back what it had left
  EXPECT_NE(refusal([this] { restore_from_journal(root_, journal("copy")); }), "");
  EXPECT_TRUE(std::filesystem::exists(journal("copy")));
}

// What `act` comes to for a user of this machine who is not root.
int code_as_nobody(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(4);
    _exit(act());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A user who is not root, told of a journal in a folder that it may not enter.
int code_beside_a_closed_folder(const std::filesystem::path& runtime) {
  return code_as_nobody([&] {
    setenv("TMPDIR", runtime.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
    DirectoryBoard board;
    Sysroot root(board.root());
    const std::filesystem::path closed = runtime / "closed";
    if (mkdir(closed.c_str(), 0) != 0) return 5;
    lock_board(root, LockPurpose::writing).write_line((closed / "state/knobs.journal").string());
    int code = 1;
    try {
      const BoardActuator actuator(board.description(), root, {runtime / "own/knobs.journal"});
    } catch (const BusyError& error) {
      const std::string way_out = "gearshift restore --state " + (closed / "state").string();
      code = std::string(error.what()).find(way_out) != std::string::npos ? 0 : 2;
    }
    chmod(closed.c_str(), 0700);
    return code;
  });
}

TEST_F(HolderLockTest, AJournalThatCannotBeLookedAtIsNamedAndNoKnobIsLostForIt) {
  const fakes::TempTree runtime;
  std::filesystem::permissions(runtime.root(), std::filesystem::perms(0777));
  EXPECT_EQ(code_beside_a_closed_folder(runtime.root()), 0);
}

// What a user of this machine who is not root comes to, in a runtime folder of the given mode.
int code_of_lock_in(const std::filesystem::path& runtime, unsigned mode, const Sysroot& root) {
  return code_as_nobody([&] {
    const std::filesystem::path locks = runtime / "gearshift-boards";
    if (mkdir(locks.c_str(), 0700) != 0 || chmod(locks.c_str(), mode) != 0) return 5;
    setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
    try {
      lock_board(root, LockPurpose::writing);
    } catch (const BusyError&) {
      return 1;
    } catch (const std::runtime_error& error) {
      const bool names = std::string(error.what()).find(locks.string()) != std::string::npos;
      return names ? 2 : 3;
    }
    return 0;
  });
}

TEST_F(HolderLockTest, AFolderThatOthersMayWriteIsNotTrusted) {
  for (const auto& [mode, code] : {std::pair{0700U, 0}, {0755U, 0}, {0777U, 2}, {0730U, 2}}) {
    const fakes::TempTree runtime;
    std::filesystem::permissions(runtime.root(), std::filesystem::perms(0777));
    EXPECT_EQ(code_of_lock_in(runtime.root(), mode, root_), code) << std::oct << mode;
  }
}

// A daemon of a user who is not root, whose locks cannot be made any more when it is restored.
int code_of_restore_without_locks(const std::filesystem::path& home) {
  return code_as_nobody([&] {
    setenv("TMPDIR", home.c_str(), 1);
    setenv("XDG_RUNTIME_DIR", home.c_str(), 1);
    DirectoryBoard board;
    Sysroot root(board.root());
    const std::string found = board.get(DirectoryBoard::gpu("max_freq"));
    const std::filesystem::path journal = home / "state/knobs.journal";
    {
      BoardActuator actuator(board.description(), root, {journal});
      apply_knob(actuator, "gpu_mhz", 306000);
    }
    const bool changed = board.get(DirectoryBoard::gpu("max_freq")) != found;
    if (chmod((home / "gearshift-boards").c_str(), 0777) != 0) return 5;
    const RestoreReport report = restore_from_journal(root, journal);
    const bool told =
        !report.notes.empty() && report.notes[0].starts_with("the board is not locked");
    const bool restored = changed && board.get(DirectoryBoard::gpu("max_freq")) == found;
    return restored && told && report.failed.empty() ? 0 : 1;
  });
}

TEST_F(HolderLockTest, KnobsArePutBackWhereTheBoardCannotBeLocked) {
  const fakes::TempTree home;
  std::filesystem::permissions(home.root(), std::filesystem::perms(0777));
  EXPECT_EQ(code_of_restore_without_locks(home.root()), 0);
}

// What `act` comes to in a process whose files may not grow beyond `bytes`, as on a full disk.
int code_with_files_of(rlim_t bytes, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit most{.rlim_cur = bytes, .rlim_max = bytes};
    _exit(setrlimit(RLIMIT_FSIZE, &most) == 0 ? act() : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(HolderLockTest, OnAFullDiskItIsHeldToRestoreAndKeepsWhatItSaid) {
  std::filesystem::create_directories(folder_.at("/locks"));
  const std::filesystem::path path = folder_.at("/locks/one.lock");
  HolderLock(path, LockPurpose::writing, "has it").write_line("/state/one");
  const auto hold = [&path] {
    try {
      const HolderLock lock(path, LockPurpose::restoring, "has it");
      return refusal([&path] { HolderLock(path, LockPurpose::writing, "has it"); }).empty() ? 1 : 0;
    } catch (const std::runtime_error&) {
      return 2;
    }
  };
  EXPECT_EQ(code_with_files_of(0, hold), 0);
  EXPECT_EQ(HolderLock(path, LockPurpose::restoring, "has it").line_before(), "/state/one");
  const auto write = [&path] {
    try {
      HolderLock(path, LockPurpose::writing, "has it");
    } catch (const std::runtime_error&) {
      return 0;
    }
    return 1;
  };
  EXPECT_EQ(code_with_files_of(0, write), 0) << "a daemon says who it is";
}

TEST_F(HolderLockTest, OnAFullDiskEverythingIsPutBack) {
  const auto before = board_.bytes();
  {
    BoardActuator killed = actuator(root_, "first");
    for (const auto& [knob, value] : {std::pair("gpu_mhz", 306000), std::pair("cpu_cores", 4)}) {
      apply_knob(killed, knob, value);
    }
    board_.settle();
  }
  ASSERT_NE(board_.bytes(), before);
  constexpr rlim_t kLongestKnob = 12;  // a knob's text has fewer bytes, a lock's has more
  const auto restore = [this] {
    try {
      return restore_from_journal(root_, journal("first")).failed.empty() ? 0 : 1;
    } catch (const std::runtime_error&) {
      return 2;
    }
  };
  EXPECT_EQ(code_with_files_of(kLongestKnob, restore), 0);
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(journal("first")));
}

TEST_F(HolderLockTest, ASecondBoardIsAnotherMatter) {
  DirectoryBoard other;
  Sysroot root(other.root());
  const BoardActuator first = actuator(root_, "first");
  const BoardActuator second = actuator(root, "second");
  EXPECT_TRUE(second.writable());
}

TEST(LockHolder, IsWaitedForWhileItRestoresOrIsDeadAndNotOtherwise) {
  const pid_t dead = fork();
  if (dead == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(dead), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(lock_passes(std::to_string(dead))) << "a zombie's other threads may have it yet";
  ASSERT_EQ(waitpid(dead, nullptr, 0), dead);
  EXPECT_TRUE(lock_passes(std::to_string(dead))) << "the next one has not written its own yet";
  EXPECT_TRUE(lock_passes(std::to_string(getpid()) + " restoring"));
  EXPECT_FALSE(lock_passes(std::to_string(getpid())));
  EXPECT_FALSE(lock_passes("unknown"));
  EXPECT_FALSE(lock_passes("0"));
}

}  // namespace
}  // namespace gearshift
