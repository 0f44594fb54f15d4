// Control groups of trees that are made up: version 2, and what is missing.
#include "actuators/control_group.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "actuators/board_actuator.h"
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
