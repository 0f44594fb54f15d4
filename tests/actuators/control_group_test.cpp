// Control groups of trees that are made up: version 2, and what is missing.
#include "actuators/control_group.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "actuators/board_actuator.h"
#include "actuators/group_removal.h"
#include "tests/actuators/host_groups.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

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
  tree.put("/sys/fs/cgroup/cgroup.subtree_control", "cpu memory");
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
  tree.put("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu");
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

TEST(ControlGroups, AGroupThatNoWorkloadCouldBeMovedIntoIsNotSaidToBeSet) {
  const fakes::TempTree tree;
  put_shell(tree);
  tree.put("/sys/devices/system/cpu/online", "0-3");
  Sysroot root(tree.root());
  const fakes::TempTree state;
  BoardActuator actuator(host(), root, {state.at("/knobs.journal")});
  const std::string folder = "/sys/fs/cgroup/user/gearshift-" + std::to_string(getpid());
  const auto none_is_set = [&](const std::string& why) {
    EXPECT_THROW(actuator.manage(7, Kind::train), KnobError) << why;
    EXPECT_THROW(actuator.write(1, 30), KnobError) << why;
    EXPECT_EQ(actuator.read(1), std::nullopt) << why;
  };
  none_is_set("the group has no quota");
  tree.put(folder + "/cpuset.cpus", "");
  tree.put(folder + "/cpu.max", "");
  none_is_set("the group takes no process");
  tree.put(folder + "/cgroup.procs", "");
  actuator.manage(7, Kind::train);
  EXPECT_EQ(tree.get(folder + "/cpu.max"), "30000 100000");
  EXPECT_EQ(actuator.write(1, 50), Progress::done);
  EXPECT_EQ(actuator.read(1), 50);
  EXPECT_EQ(tree.get(folder + "/cpu.max"), "50000 100000");
}

constexpr int kWorkers = 64;

// Process 7 of put_shell(), with workers that it has started.
struct FamilyTree {
  FamilyTree() {
    put_shell(tree);
    tree.put("/proc/7/status", running_as(1000));
    std::string children;
    for (int child = 100; child < 100 + kWorkers; ++child) {
      const std::string folder = "/proc/" + std::to_string(child);
      children += std::to_string(child) + ' ';
      tree.put(folder + "/cgroup", "0::/user/shell");
      tree.put(folder + "/status", running_as(1000));
    }
    tree.put("/proc/7/task/7/children", children);
  }
  const fakes::TempTree tree;
};

// With a group for them.
struct Families : FamilyTree, testing::Test {
  void make_group() {
    group.make(7, journal);
    tree.put(group.folder() + "/cgroup.procs", "");
  }
  std::size_t saved() const { return parse_journal(state.get("/knobs.journal")).entries.size(); }

  const fakes::TempTree state;
  Sysroot root{tree.root()};
  KnobJournal journal{root, state.at("/knobs.journal")};
  ControlGroup group{root, kMount, "cpu"};
};

// How often a file of that name was moved into the folder that `watch` looks at.
int moves_to(int watch, std::string_view name) {
  int moves = 0;
  alignas(inotify_event) std::array<char, 65536> buffer{};
  for (ssize_t size = 0; (size = ::read(watch, buffer.data(), buffer.size())) > 0;) {
    for (const char* at = buffer.data(); at < buffer.data() + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      const bool moved = (event->mask & IN_MOVED_TO) != 0;
      if (moved && event->len > 0 && name == event->name) ++moves;
      at += sizeof(inotify_event) + event->len;
    }
  }
  return moves;
}

// Each time that it is written to disk takes the loop about 10 ms.
TEST_F(Families, TheJournalIsWrittenOnceForAllOfOne) {
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  // What is made too, for of two equal events one after another the kernel tells one.
  ASSERT_GE(inotify_add_watch(watch, state.root().c_str(), IN_MOVED_TO | IN_CREATE), 0);
  make_group();
  group.adopt(7, journal);
  EXPECT_EQ(moves_to(watch, "knobs.journal"), 2) << "for the group, and for the homes";
  close(watch);
  EXPECT_EQ(root.writes(), 1u + kWorkers);
  EXPECT_EQ(saved(), 2u + kWorkers);
}

TEST_F(Families, AWholeOneIsSavedBeforeTheFirstOfItIsMoved) {
  make_group();
  const pid_t daemon = fork();
  if (daemon == 0) {
    root.stop_at_write(1);
    group.adopt(7, journal);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(saved(), 2u + kWorkers);
}

// One is in a group that this program cannot see, say a container's.
TEST_F(Families, AChildThatCannotBeMovedIsToldWhenTheOthersAreIn) {
  tree.put("/proc/100/cgroup", "0::/../container");
  tree.remove("/proc/101");  // has ended
  make_group();
  try {
    group.adopt(7, journal);
    ADD_FAILURE() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("process 100, /../container, cannot be reached"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(root.writes(), 1u + kWorkers - 2);
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
  tree.put("/sys/fs/cgroup/cgroup.subtree_control", "");
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

// The kernel would take it, and the limit with it.
TEST(ControlGroups, AControllerThatAnotherGroupHasALimitOfStaysOn) {
  const std::string parent = "/sys/fs/cgroup/user";
  const std::string file = parent + "/cgroup.subtree_control";
  for (const auto& [change, limit, text, kept] :
       {std::tuple("-cpuset", "cpuset.cpus", "0-1", true),
        {"-cpuset", "cpuset.cpus", "", false},
        std::tuple("-cpuset", "cpuset.mems", "0", true),
        {"-cpuset", "cpu.max", "9 10", false},
        std::tuple("-cpu", "cpu.max", "20000 100000", true),
        {"-cpu", "cpu.max", "max 10", false},
        std::tuple("-cpu", "cpu.weight", "1000", true),
        {"-cpu", "cpu.weight", "100", false}}) {
    const fakes::TempTree tree;
    tree.put(file, "cpu cpuset");
    tree.put(parent + "/sibling.service/" + limit, text);
    tree.put("/proc/sys/kernel/random/boot_id", "this");
    Sysroot root(tree.root());
    const fakes::TempTree state;
    {
      KnobJournal journal(root, state.at("/knobs.journal"));
      journal.save(SavedRole::controllers, file, change);
      journal.commit();
    }
    const RestoreReport report = restore_from_journal(root, state.at("/knobs.journal"));
    EXPECT_EQ(tree.get(file), kept ? "cpu cpuset" : change) << limit << ' ' << text;
    EXPECT_EQ(report.notes.size(), kept ? 1u : 0u) << limit << ' ' << text;
    EXPECT_TRUE(report.failed.empty());
    if (report.notes.empty()) continue;
    EXPECT_NE(report.notes[0].find(std::string("sibling.service/") + limit + " reads " + text),
              std::string::npos)
        << report.notes[0];
  }
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

}  // namespace
}  // namespace gearshift
