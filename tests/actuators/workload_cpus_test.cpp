// The control group knobs, on the real control groups of this machine: nothing else behaves like
// them. Skipped without root or without a hierarchy.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/control_group.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

constexpr const char* kMount = "/sys/fs/cgroup";

BoardDescription host() {
  BoardDescription board;
  board.id = "host";
  board.knobs.push_back(
      {{"cpu_cores", Unit::count, KnobClass::hotplug, {1}}, KnobDriver::cgroup_cpuset, kMount, {}});
  board.knobs.push_back({{"cpu_quota_percent", Unit::percent, KnobClass::clock, {100}},
                         KnobDriver::cgroup_quota,
                         kMount,
                         {}});
  return board;
}

// A process that does nothing until it is killed, with a child that does the same.
class IdleProcess {
 public:
  IdleProcess() {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const pid_t child = fork();
      if (child != 0) {
        [[maybe_unused]] const ssize_t put = write(ready[1], &child, sizeof child);
      }
      while (true) pause();
    }
    EXPECT_EQ(::read(ready[0], &child_, sizeof child_), static_cast<ssize_t>(sizeof child_));
    close(ready[0]);
    close(ready[1]);
  }
  ~IdleProcess() {
    kill(child_, SIGKILL);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  pid_t child() const { return child_; }

 private:
  pid_t pid_ = 0;
  pid_t child_ = 0;
};

class WorkloadCpusTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "making control groups needs root";
    BoardActuator probe(host(), root_, {journal()});
    if (!probe.absent().empty()) GTEST_SKIP() << probe.absent()[0].reason;
  }

  std::filesystem::path journal() const { return state_.at("/knobs.journal"); }
  BoardActuator make() { return {host(), root_, {journal()}}; }

  // The lines of /proc/PID/cgroup.
  std::string groups(pid_t pid) const {
    return root_.read("/proc/" + std::to_string(pid) + "/cgroup");
  }
  static std::string group_of(pid_t daemon) { return "/gearshift-" + std::to_string(daemon); }

  fakes::TempTree state_;
  Sysroot root_;
};

TEST_F(WorkloadCpusTest, OffersEveryCountOfCoresAndSharesUpToAllOfThem) {
  BoardActuator actuator = make();
  const auto& cores = actuator.knobs().knobs[0].values;
  const auto& quota = actuator.knobs().knobs[1].values;
  EXPECT_EQ(cores.front(), 1);
  EXPECT_EQ(cores.back(), static_cast<std::int64_t>(cores.size()));
  EXPECT_EQ(quota.front(), 10);
  EXPECT_EQ(quota.back(), 100 * cores.back());
  EXPECT_TRUE(std::is_sorted(quota.begin(), quota.end()));
}

TEST_F(WorkloadCpusTest, AValueWrittenBeforeAWorkloadComesHoldsForIt) {
  IdleProcess process;
  BoardActuator actuator = make();
  EXPECT_EQ(actuator.read(1), actuator.knobs().knobs[1].values.back());
  EXPECT_EQ(actuator.write(0, 1), Progress::done);
  EXPECT_EQ(actuator.write(1, 30), Progress::done);
  EXPECT_EQ(actuator.read(1), 30);
  EXPECT_EQ(groups(process.pid()).find(group_of(getpid())), std::string::npos);
  actuator.manage(process.pid(), Kind::train);
  EXPECT_NE(groups(process.pid()).find(group_of(getpid())), std::string::npos);
  EXPECT_EQ(actuator.read(0), 1);
  EXPECT_EQ(actuator.read(1), 30);
  EXPECT_EQ(actuator.write(1, 50), Progress::done);
  EXPECT_EQ(actuator.read(1), 50);
  actuator.restore();
}

TEST_F(WorkloadCpusTest, MovesTheWholeFamilyAndPutsItBack) {
  IdleProcess process;
  const std::string before = groups(process.pid());
  BoardActuator actuator = make();
  actuator.manage(process.pid(), Kind::train);
  EXPECT_EQ(groups(process.child()), groups(process.pid()));
  EXPECT_NE(groups(process.child()), before);
  actuator.restore();
  EXPECT_EQ(groups(process.pid()), before);
  EXPECT_EQ(groups(process.child()), before);
  EXPECT_FALSE(std::filesystem::exists(journal()));
  // And again, in a group made anew.
  actuator.manage(process.pid(), Kind::train);
  EXPECT_EQ(actuator.write(1, 20), Progress::done);
  actuator.restore();
  EXPECT_EQ(groups(process.pid()), before);
}

TEST_F(WorkloadCpusTest, TwoWorkloadsShareOneGroup) {
  IdleProcess train;
  IdleProcess infer;
  BoardActuator actuator = make();
  actuator.manage(train.pid(), Kind::train);
  actuator.manage(infer.pid(), Kind::infer);
  EXPECT_EQ(groups(train.pid()), groups(infer.pid()));
  actuator.restore();
  EXPECT_EQ(groups(infer.pid()).find(group_of(getpid())), std::string::npos);
}

TEST_F(WorkloadCpusTest, AnEndedWorkloadDoesNotKeepTheGroup) {
  BoardActuator actuator = make();
  {
    IdleProcess process;
    actuator.manage(process.pid(), Kind::train);
  }
  actuator.restore();
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(WorkloadCpusTest, RefusesAProcessThatIsNotThere) {
  BoardActuator actuator = make();
  EXPECT_THROW(actuator.manage(0, Kind::train), KnobError);
  try {
    actuator.manage(1 << 22, Kind::train);  // above every pid that Linux gives
    FAIL() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_cores: "), std::string::npos) << error.what();
  }
  actuator.restore();
}

TEST_F(WorkloadCpusTest, AKilledDaemonsGroupIsEmptiedAndRemoved) {
  IdleProcess process;
  const std::string before = groups(process.pid());
  const pid_t daemon = fork();
  if (daemon == 0) {
    Sysroot root;
    BoardActuator actuator(host(), root, {journal()});
    actuator.write(1, 10);
    actuator.manage(process.pid(), Kind::train);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_NE(groups(process.pid()).find(group_of(daemon)), std::string::npos);
  const RestoreReport report = restore_from_journal(root_, journal());
  EXPECT_TRUE(report.failed.empty());
  EXPECT_FALSE(report.restored.empty());
  EXPECT_EQ(groups(process.pid()), before);
  EXPECT_EQ(groups(process.child()), before);
}

// systemd removes a scope that has become empty, in each hierarchy.
TEST_F(WorkloadCpusTest, AProcessWhoseGroupIsGoneGoesToTheNextGroupAboveIt) {
  IdleProcess first;
  IdleProcess process;
  const std::string before = groups(process.pid());
  const ControlGroup hierarchy(root_, kMount, "cpu");
  const std::string slice = hierarchy.own_home() + "/gearshift-test-" + std::to_string(getpid());
  const std::string scope = slice + "/scope";
  std::filesystem::create_directories(scope);
  root_.write(scope + "/cgroup.procs", std::to_string(process.pid()));
  RestoreReport report;
  {
    BoardActuator actuator = make();
    actuator.manage(first.pid(), Kind::train);
    actuator.manage(process.pid(), Kind::infer);
    std::filesystem::remove(scope);
    std::filesystem::remove(slice);
  }
  report = restore_from_journal(root_, journal());
  EXPECT_TRUE(report.failed.empty());
  EXPECT_EQ(groups(process.pid()), before);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find(scope + ", where it was, is gone"), std::string::npos)
      << report.notes[0];
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

// Nothing above it takes processes either: there is a folder in the place of the file.
TEST(ControlGroups, WhatCannotBePutBackSaysWhy) {
  const fakes::TempTree tree;
  tree.put("/sys/fs/cgroup/gearshift-1/cgroup.procs", "7");
  tree.put("/sys/fs/cgroup/cgroup.procs/file", "");
  Sysroot root(tree.root());
  RestoreReport report;
  const std::string group = "/sys/fs/cgroup/gearshift-1";
  const std::vector<SavedEntry> entries = {{SavedRole::group, group, ""},
                                           {SavedRole::group_home, group, "7 /sys/fs/cgroup/gone"}};
  EXPECT_EQ(empty_groups(root, entries, report).size(), 2u);
  ASSERT_EQ(report.failed.size(), 1u);
  EXPECT_NE(report.failed[0].find("/sys/fs/cgroup/gone/cgroup.procs"), std::string::npos)
      << report.failed[0];
  EXPECT_TRUE(report.notes.empty());
}

TEST_F(WorkloadCpusTest, AKillAtAnyWriteOfAManageIsUndone) {
  IdleProcess process;
  const std::string before = groups(process.pid());
  for (std::uint64_t n = 1;; ++n) {
    const pid_t daemon = fork();
    if (daemon == 0) {
      Sysroot root;
      root.stop_at_write(n);
      BoardActuator actuator(host(), root, {journal()});
      actuator.manage(process.pid(), Kind::train);
      actuator.write(1, 10);
      actuator.restore();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
    restore_from_journal(root_, journal());
    ASSERT_EQ(groups(process.pid()), before) << "killed at write " << n;
    for (const char* hierarchy : {"/cpu", "/cpuset", ""}) {
      ASSERT_FALSE(std::filesystem::exists(kMount + std::string(hierarchy) + group_of(daemon)));
    }
    if (!WIFSIGNALED(status)) {
      EXPECT_GT(n, 5u);
      return;
    }
  }
}

TEST(ControlGroups, AMachineWithoutAHierarchyHasAbsentKnobs) {
  const fakes::TempTree empty;
  const fakes::TempTree state;
  Sysroot root(empty.root());
  const BoardActuator actuator(host(), root, {state.at("/knobs.journal")});
  ASSERT_EQ(actuator.absent().size(), 2u);
  EXPECT_NE(actuator.absent()[0].reason.find("cpuset controller below /sys/fs/cgroup"),
            std::string::npos)
      << actuator.absent()[0].reason;
}

// Version 2 as a tree of files: a kernel serves one version only, and here it is the other one.
TEST(ControlGroups, VersionTwoGroupsLieBesideTheProcess) {
  const fakes::TempTree tree;
  tree.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory");
  tree.put("/sys/fs/cgroup/user/cgroup.subtree_control", "memory");
  tree.put("/sys/fs/cgroup/user/cgroup.procs", "");
  tree.put("/sys/fs/cgroup/user/shell/cgroup.procs", "7");
  tree.put("/sys/fs/cgroup/user/shell/cpuset.cpus.effective", "0-3");
  tree.put("/proc/self/cgroup", "0::/user/shell");
  tree.put("/proc/7/cgroup", "0::/user/shell");
  Sysroot root(tree.root());
  const fakes::TempTree state;
  KnobJournal journal(root, state.at("/knobs.journal"));
  ControlGroup group(root, kMount, "cpu");
  EXPECT_EQ(group.version(), ControlGroup::Version::v2);
  EXPECT_EQ(group.own_home(), "/sys/fs/cgroup/user/shell");
  group.make(7, journal);
  const std::string folder = "/sys/fs/cgroup/user/gearshift-" + std::to_string(getpid());
  EXPECT_EQ(group.folder(), folder);
  EXPECT_EQ(tree.get("/sys/fs/cgroup/user/cgroup.subtree_control"), "+cpu");
  tree.put(folder + "/cgroup.procs", "");
  group.adopt(7, journal);
  EXPECT_EQ(tree.get(folder + "/cgroup.procs"), "7");
  const JournalText text = parse_journal(state.get("/knobs.journal"));
  ASSERT_EQ(text.entries.size(), 3u);
  EXPECT_EQ(text.entries[0].text, "-cpu");
  EXPECT_EQ(text.entries[2].text, "7 /sys/fs/cgroup/user/shell");
  // What the kernel does with a moved process.
  tree.remove(folder + "/cgroup.procs");
  journal.restore();
  EXPECT_FALSE(std::filesystem::exists(tree.at(folder)));
  EXPECT_EQ(tree.get("/sys/fs/cgroup/user/cgroup.subtree_control"), "-cpu");
}

// A tree of version 2 with a shell, process 7, in a group of its own.
void put_shell(const fakes::TempTree& tree) {
  tree.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
  tree.put("/sys/fs/cgroup/user/cgroup.subtree_control", "cpu");
  tree.put("/sys/fs/cgroup/user/cgroup.procs", "");
  tree.put("/sys/fs/cgroup/user/shell/cgroup.procs", "7");
  tree.put("/proc/self/cgroup", "0::/user/shell");
  tree.put("/proc/7/cgroup", "0::/user/shell");
}

std::string running_as(int user) {
  const std::string id = '\t' + std::to_string(user);
  return "Name:\tx\nUid:" + id + id + id + id + "\n";
}

TEST(ControlGroups, OfAFamilyOnlyProcessesOfTheSameUserAreMoved) {
  const fakes::TempTree tree;
  put_shell(tree);
  tree.put("/proc/7/status", running_as(1000));
  tree.put("/proc/7/task/7/children", "8 9 ");
  for (const int child : {8, 9}) {
    const std::string folder = "/proc/" + std::to_string(child);
    tree.put(folder + "/cgroup", "0::/user/shell");
    tree.put(folder + "/task/" + std::to_string(child) + "/children", "");
    tree.put(folder + "/status", running_as(child == 8 ? 1000 : 0));
  }
  Sysroot root(tree.root());
  const fakes::TempTree state;
  KnobJournal journal(root, state.at("/knobs.journal"));
  ControlGroup group(root, kMount, "cpu");
  group.make(7, journal);
  tree.put(group.folder() + "/cgroup.procs", "");
  group.adopt(7, journal);
  const JournalText text = parse_journal(state.get("/knobs.journal"));
  ASSERT_EQ(text.entries.size(), 3u) << "the group, 7 and 8: what sudo started is root's";
  EXPECT_EQ(text.entries[2].text, "8 /sys/fs/cgroup/user/shell");
  EXPECT_EQ(tree.get(group.folder() + "/cgroup.procs"), "8");
}

TEST(ControlGroups, TheHomesOfProcessesThatHaveEndedAreForgotten) {
  const fakes::TempTree tree;
  put_shell(tree);
  Sysroot root(tree.root());
  const fakes::TempTree state;
  KnobJournal journal(root, state.at("/knobs.journal"));
  ControlGroup group(root, kMount, "cpu");
  group.make(7, journal);
  for (int pid = 7; pid < 12; ++pid) {
    tree.put("/proc/" + std::to_string(pid) + "/cgroup", "0::/user/shell");
    // The one before has ended.
    tree.put(group.folder() + "/cgroup.procs", "");
    group.adopt(pid, journal);
  }
  const JournalText text = parse_journal(state.get("/knobs.journal"));
  ASSERT_EQ(text.entries.size(), 3u)
      << "the group, its first one, whose home is everybody's, and 11";
  EXPECT_EQ(text.entries[1].text, "7 /sys/fs/cgroup/user/shell");
  EXPECT_EQ(text.entries[2].text, "11 /sys/fs/cgroup/user/shell");
}

TEST(ControlGroups, VersionTwoOffersTheCpusOfTheOwnGroup) {
  const fakes::TempTree tree;
  tree.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
  tree.put("/sys/fs/cgroup/cgroup.procs", "7");
  tree.put("/sys/fs/cgroup/cpuset.cpus.effective", "2-3,5");
  tree.put("/proc/self/cgroup", "0::/");
  Sysroot root(tree.root());
  const fakes::TempTree state;
  const BoardActuator actuator(host(), root, {state.at("/knobs.journal")});
  ASSERT_TRUE(actuator.absent().empty()) << actuator.absent()[0].reason;
  EXPECT_EQ(actuator.knobs().knobs[0].values, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(
      actuator.knobs().knobs[1].values,
      (std::vector<std::int64_t>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200, 250, 300}));
}

}  // namespace
}  // namespace gearshift
