#include "actuators/knob_journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "actuators/board_actuator.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;
using Bytes = std::map<std::string, std::string>;

// A journal is synced to disk, which costs tens of milliseconds on a busy one, and dozens of
// daemons are killed here: the trees of this program's tests lie in memory where the machine has
// such a folder.
class TreesInMemory : public testing::Environment {
 public:
  void SetUp() override {
    constexpr const char* kMemory = "/dev/shm";
    if (access(kMemory, W_OK) == 0) setenv("TMPDIR", kMemory, 0);
  }
};
[[maybe_unused]] testing::Environment* const kTreesInMemory =
    testing::AddGlobalTestEnvironment(new TreesInMemory);

class KnobJournalTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/my state/knobs.journal"); }

  // A run of a daemon from its first write to its last: every knob up, down, and put back.
  void run(Sysroot& root) const {
    BoardActuator actuator(board_.description(), root, {journal()});
    apply_knob(actuator, "cpu_cores", 12);
    apply_knob(actuator, "cpu_mhz", 2201600);
    apply_knob(actuator, "gpu_mhz", 1300500);
    apply_knob(actuator, "mem_mhz", 3199000);
    apply_knob(actuator, "gpu_mhz", 306000);
    apply_knob(actuator, "cpu_mhz", 729600);
    apply_knob(actuator, "mem_mhz", 204000);
    apply_knob(actuator, "cpu_cores", 4);
    actuator.restore();
  }

  // Runs a daemon in a process of its own that is killed right before write `n`. False where it
  // ended before it got there.
  bool killed_at(std::uint64_t n) const { return killed_at(n, board_.root()); }
  bool killed_at(std::uint64_t n, const std::filesystem::path& prefix) const {
    const pid_t child = fork();
    if (child == 0) {
      Sysroot root(prefix);
      root.stop_at_write(n);
      run(root);
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(!WIFSIGNALED(status) || WTERMSIG(status) == SIGKILL) << WTERMSIG(status);
    return WIFSIGNALED(status);
  }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
};

TEST_F(KnobJournalTest, AKillAtAnyWriteLeavesAJournalThatRestoresEveryByte) {
  const Bytes before = board_.bytes();
  std::uint64_t n = 1;
  for (; killed_at(n); ++n) {
    const RestoreReport report = restore_from_journal(root_, journal());
    EXPECT_TRUE(report.failed.empty()) << report.failed[0];
    ASSERT_EQ(board_.bytes(), before) << "killed at write " << n;
    ASSERT_FALSE(std::filesystem::exists(journal()));
  }
  EXPECT_GT(n, 40u) << "the run should write more often than that";
  EXPECT_EQ(board_.bytes(), before);
}

TEST_F(KnobJournalTest, TheNextDaemonRestoresWhatAKilledOneLeft) {
  const Bytes before = board_.bytes();
  ASSERT_TRUE(killed_at(20));
  ASSERT_NE(board_.bytes(), before);
  {
    const BoardActuator next(board_.description(), root_, {journal()});
    EXPECT_EQ(board_.bytes(), before);
    EXPECT_FALSE(next.leftover().empty());
    for (const std::string& line : next.leftover()) {
      EXPECT_TRUE(line.starts_with("left over, restored: ")) << line;
      const auto& findings = next.findings();
      EXPECT_EQ(std::count(findings.begin(), findings.end(), line), 1) << line;
    }
  }
  const BoardActuator third(board_.description(), root_, {journal()});
  EXPECT_TRUE(third.leftover().empty()) << "it was told";
}

TEST_F(KnobJournalTest, TheJournalIsOnDiskBeforeTheFirstWriteWithAllKnobsInIt) {
  ASSERT_TRUE(killed_at(1));
  const JournalText text = parse_journal(state_.get("/my state/knobs.journal"));
  EXPECT_EQ(text.boot_id, "11111111-2222-3333-4444-555555555555");
  EXPECT_EQ(text.entries.size(), 11u + 6u + 2u + 4u);
}

TEST_F(KnobJournalTest, LimitsGoBackInTheOrderThatNoKernelRefuses) {
  ASSERT_TRUE(killed_at(11));  // four cores up, then three policies pinned at 2201600
  EXPECT_EQ(board_.get(DirectoryBoard::policy(8) + "/scaling_min_freq"), "2201600");
  board_.record();
  restore_from_journal(root_, journal());
  const std::vector<std::string> written = board_.written();
  const auto place = [&](const std::string& path) {
    return std::find(written.begin(), written.end(), path) - written.begin();
  };
  // The saved maximum is below the minimum in force: 4.9 takes the minimum first only.
  EXPECT_LT(place(DirectoryBoard::policy(0) + "/scaling_min_freq"),
            place(DirectoryBoard::policy(0) + "/scaling_max_freq"));
  EXPECT_LT(place(DirectoryBoard::policy(8) + "/scaling_max_freq"),
            place(DirectoryBoard::cpu(8) + "/online"))
      << "a core must not go offline before the limits of its cluster are back";
}

TEST_F(KnobJournalTest, CoresComeOnlineBeforeTheirLimitsGoBack) {
  {
    BoardActuator actuator(board_.description(), root_, {journal()});
    apply_knob(actuator, "cpu_mhz", 729600);
    apply_knob(actuator, "cpu_cores", 1);
  }
  board_.record();
  restore_from_journal(root_, journal());
  const std::vector<std::string> written = board_.written();
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.front(), DirectoryBoard::cpu(1) + "/online");
}

TEST_F(KnobJournalTest, AJournalOfAnotherBootIsComparedAndRemovedOnly) {
  ASSERT_TRUE(killed_at(20));
  board_.put("/proc/sys/kernel/random/boot_id", "another");
  const Bytes before = board_.bytes();
  const RestoreReport report = restore_from_journal(root_, journal());
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_EQ(root_.writes(), 0u);
  EXPECT_TRUE(report.restored.empty());
  ASSERT_GE(report.notes.size(), 2u);
  EXPECT_NE(report.notes[0].find("earlier boot"), std::string::npos);
  EXPECT_NE(report.notes[1].find(" reads "), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(KnobJournalTest, AJournalOfABoardThatIsNotThereIsKept) {
  {
    BoardActuator actuator(board_.description(), root_, {journal()});
    apply_knob(actuator, "gpu_mhz", 306000);
  }
  std::filesystem::remove_all(board_.at("/sys"));
  board_.remove("/proc/sys/kernel/random/boot_id");
  EXPECT_THROW(restore_from_journal(root_, journal()), JournalError);
  EXPECT_TRUE(std::filesystem::exists(journal()));
}

TEST_F(KnobJournalTest, ADamagedJournalIsRefusedWithoutAWrite) {
  ASSERT_TRUE(killed_at(20));
  const std::string whole = state_.get("/my state/knobs.journal");
  for (const std::string& damaged :
       {whole.substr(0, whole.size() / 2), std::string("x"), std::string(), whole + whole}) {
    state_.put("/my state/knobs.journal", damaged);
    const Bytes before = board_.bytes();
    EXPECT_THROW(restore_from_journal(root_, journal()), JournalError);
    EXPECT_THROW(BoardActuator(board_.description(), root_, {journal()}), JournalError);
    EXPECT_EQ(board_.bytes(), before);
    EXPECT_EQ(state_.get("/my state/knobs.journal"), damaged) << "kept for people to look at";
  }
  EXPECT_EQ(root_.writes(), 0u);
}

TEST_F(KnobJournalTest, AJournalOfAnotherSysrootIsRefusedWithTheWayOut) {
  const std::filesystem::path prefix = state_.at("/my board");
  std::filesystem::create_directory_symlink(board_.root(), prefix);
  ASSERT_TRUE(killed_at(20, prefix));
  DirectoryBoard other;
  Sysroot root(other.root());
  const Bytes before = other.bytes();
  try {
    restore_from_journal(root, journal());
    FAIL() << "it was taken";
  } catch (const JournalError& error) {
    EXPECT_TRUE(std::string(error.what()).ends_with("--sysroot '" + prefix.string() + "'"))
        << error.what();
  }
  EXPECT_EQ(other.bytes(), before);
}

// What a daemon with another state folder is told, word by word: it does what it says.
TEST_F(KnobJournalTest, ABoardBelowAPrefixIsRestoredWithIt) {
  ASSERT_TRUE(killed_at(20));
  const auto way_out = [&] {
    try {
      const BoardActuator other(board_.description(), root_, {state_.at("/other/knobs.journal")});
      ADD_FAILURE() << "it was let in";
    } catch (const BusyError& error) {
      const std::string told = error.what();
      const std::size_t at = told.find("gearshift restore ");
      if (at != std::string::npos) return told.substr(at);
    }
    return std::string();
  };
  const std::string prefix = " --sysroot " + board_.root().string();
  const std::string folder = journal().parent_path().string();
  EXPECT_EQ(way_out(), "gearshift restore --state '" + folder + '\'' + prefix);
  restore_from_journal(root_, journal());
  // One that cannot be looked at, even by root.
  state_.link("/loop", "loop");
  lock_board(root_, LockPurpose::writing).write_line(state_.at("/loop/knobs.journal").string());
  EXPECT_EQ(way_out(), "gearshift restore --state " + state_.at("/loop").string() + prefix);
}

TEST_F(KnobJournalTest, WithoutAJournalThereIsNothingToRestore) {
  const RestoreReport report = restore_from_journal(root_, journal());
  EXPECT_TRUE(report.restored.empty() && report.failed.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(journal().parent_path())) << "looking leaves no trace";
}

TEST_F(KnobJournalTest, WhatWillNotGoBackIsToldAndKeptWithItsFirstText) {
  ASSERT_TRUE(killed_at(20));
  board_.remove(DirectoryBoard::policy(4) + "/scaling_max_freq");
  const RestoreReport report = restore_from_journal(root_, journal());
  ASSERT_EQ(report.failed.size(), 1u);
  EXPECT_NE(report.failed[0].find("policy4/scaling_max_freq: wrote 1728000"), std::string::npos)
      << report.failed[0];
  EXPECT_TRUE(std::filesystem::exists(journal()));
  {
    BoardActuator next(board_.description(), root_, {journal()});
    board_.put(DirectoryBoard::policy(4) + "/scaling_max_freq", "2201600");
    apply_knob(next, "gpu_mhz", 306000);
    next.restore();
  }
  EXPECT_EQ(board_.get(DirectoryBoard::policy(4) + "/scaling_max_freq"), "1728000");
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(KnobJournalTest, TheFirstTextOfAFileIsTheOneThatCounts) {
  KnobJournal knobs(root_, journal());
  const std::string path = DirectoryBoard::gpu("max_freq");
  knobs.save(SavedRole::limit_max, path, "612000000");
  knobs.save(SavedRole::limit_max, path, "1300500000");
  knobs.commit();
  const JournalText text = parse_journal(state_.get("/my state/knobs.journal"));
  ASSERT_EQ(text.entries.size(), 1u);
  EXPECT_EQ(text.entries[0].text, "612000000");
  EXPECT_TRUE(knobs.has(SavedRole::limit_max, path));
  EXPECT_FALSE(knobs.has(SavedRole::limit_min, path));
}

TEST_F(KnobJournalTest, WhatWouldBeTooLongToBeReadAgainIsNotSaved) {
  KnobJournal knobs(root_, journal());
  const std::string group = "/sys/fs/cgroup/gearshift-1";
  for (std::size_t i = 0; i < kMaxJournalEntries; ++i) {
    knobs.save(SavedRole::group_home, group, std::to_string(i) + " /home");
  }
  EXPECT_THROW(knobs.save(SavedRole::group_home, group, "one more"), std::runtime_error);
  EXPECT_THROW(knobs.save(SavedRole::group, group, ""), std::runtime_error);
  knobs.commit();
  const JournalText text = parse_journal(state_.get("/my state/knobs.journal"));
  EXPECT_EQ(text.entries.size(), kMaxJournalEntries);

  KnobJournal other(root_, state_.at("/other/knobs.journal"));
  other.save(SavedRole::group, "/" + std::string(kMaxJournalBytes - 300, 'x'), "");
  EXPECT_THROW(other.save(SavedRole::group, "/" + std::string(300, 'x'), ""), std::runtime_error);
  other.commit();
  EXPECT_NO_THROW(parse_journal(state_.get("/other/knobs.journal")));
}

TEST_F(KnobJournalTest, WhatIsForgottenMakesRoom) {
  KnobJournal knobs(root_, journal());
  const std::string group = "/sys/fs/cgroup/gearshift-1";
  const std::string home(kMaxJournalBytes / 4, 'x');
  const auto save = [&](int pid) {
    knobs.save(SavedRole::group_home, group, std::to_string(pid) + " /" + home);
  };
  for (int pid = 1; pid <= 3; ++pid) save(pid);
  EXPECT_THROW(save(4), std::runtime_error);
  knobs.forget_homes(group, {});  // but the first one's
  save(5);
  save(6);
  EXPECT_THROW(save(7), std::runtime_error);
  knobs.commit();
  EXPECT_EQ(parse_journal(state_.get("/my state/knobs.journal")).entries.size(), 3u);
}

// Who can open a file can lock it: then neither guardian nor next daemon could put anything back.
TEST_F(KnobJournalTest, NobodyElseCanOpenTheLock) {
  const auto mode = [&] {
    struct stat info {};
    EXPECT_EQ(stat(state_.at("/my state/knobs.journal.lock").c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  { const KnobJournal knobs(root_, journal()); }
  EXPECT_EQ(mode(), 0600u);
  state_.mode("/my state/knobs.journal.lock", 0644);  // as older releases made it
  { const KnobJournal knobs(root_, journal()); }
  EXPECT_EQ(mode(), 0600u);
}

TEST_F(KnobJournalTest, AJournalThatAnotherUserWroteOrMayWriteIsRefusedWithoutAWrite) {
  ASSERT_TRUE(killed_at(20));
  const Bytes before = board_.bytes();
  const auto refused = [&](const char* why) {
    try {
      restore_from_journal(root_, journal());
      ADD_FAILURE() << "it was taken: " << why;
    } catch (const JournalError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
    EXPECT_THROW(BoardActuator(board_.description(), root_, {journal()}), JournalError);
    EXPECT_EQ(board_.bytes(), before);
  };
  state_.mode("/my state/knobs.journal", 0666);
  refused("other users may write it");
  state_.mode("/my state/knobs.journal", 0644);
  std::filesystem::rename(journal(), state_.at("/my state/elsewhere"));
  state_.link("/my state/knobs.journal", "elsewhere");
  refused("it is a symbolic link");
  state_.remove("/my state/knobs.journal");
  std::filesystem::rename(state_.at("/my state/elsewhere"), journal());
  if (geteuid() == 0) {
    constexpr uid_t kOther = 1234;
    ASSERT_EQ(chown(journal().c_str(), kOther, static_cast<gid_t>(-1)), 0);
    refused("it belongs to user 1234");
    ASSERT_EQ(chown(journal().c_str(), 0, static_cast<gid_t>(-1)), 0);
  }
  EXPECT_TRUE(restore_from_journal(root_, journal()).failed.empty());
}

TEST_F(KnobJournalTest, ALinkInTheWayOfTheJournalIsNotWrittenThrough) {
  state_.put("/precious", "kept");
  state_.link("/my state/knobs.journal.new", "../precious");
  KnobJournal knobs(root_, journal());
  knobs.save(SavedRole::limit_max, DirectoryBoard::gpu("max_freq"), "1300500000");
  knobs.commit();
  EXPECT_EQ(state_.get("/precious"), "kept");
  EXPECT_EQ(parse_journal(state_.get("/my state/knobs.journal")).entries.size(), 1u);
}

// A guardian restores while a person runs `gearshift restore`.
TEST_F(KnobJournalTest, WhoWaitedForAnotherThatPutEverythingBackHasNothingToDo) {
  ASSERT_TRUE(killed_at(20));
  const std::string lock = journal().string() + ".lock";
  // By another name, so that what the child opens can be told from what it inherits.
  const std::filesystem::path alias = state_.at("/my state/alias");
  std::filesystem::create_hard_link(lock, alias);
  const int held = open(alias.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  const pid_t child = fork();
  if (child == 0) {
    try {
      const RestoreReport report = restore_from_journal(root_, journal());
      _exit(report.notes.size() == 1 && report.failed.empty() ? 0 : 1);
    } catch (const std::exception&) {
      _exit(2);
    }
  }
  // The lock says that it passes, and the child has it open once it waits for it.
  const std::string opened = "/proc/" + std::to_string(child) + "/fd";
  const auto waits = [&] {
    std::error_code ignored;
    for (const auto& one : std::filesystem::directory_iterator(opened, ignored)) {
      if (std::filesystem::read_symlink(one, ignored) == lock) return true;
    }
    return false;
  };
  while (!waits()) poll(nullptr, 0, 1);
  state_.remove("/my state/knobs.journal");
  flock(held, LOCK_UN);
  close(held);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace gearshift
