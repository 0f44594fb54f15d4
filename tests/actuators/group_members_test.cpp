// Who is a member of a control group, in version 2 trees that are made up.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "actuators/control_group.h"
#include "actuators/group_removal.h"
#include "actuators/guardian.h"
#include "controller/actuator.h"
#include "tests/actuators/host_groups.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

class GroupMembers : public testing::Test {
 protected:
  GroupMembers() {
    tree_.put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
    tree_.put("/sys/fs/cgroup/cgroup.subtree_control", "memory");
    tree_.put("/sys/fs/cgroup/user/cgroup.subtree_control", "");
    tree_.put("/sys/fs/cgroup/user/cgroup.procs", "");
    tree_.put("/sys/fs/cgroup/user/shell/cgroup.procs", "7");
    tree_.put("/proc/self/cgroup", "0::/user/shell");
    put_process(7, "python", "");
  }

  void put_process(int pid, const std::string& name, const std::string& children) {
    const std::string id = std::to_string(pid);
    tree_.put("/proc/" + id + "/cgroup", "0::/user/shell");
    tree_.put("/proc/" + id + "/comm", name);
    tree_.put("/proc/" + id + "/status", "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n");
    tree_.put("/proc/" + id + "/task/" + id + "/children", children);
  }
  ControlGroup made() {
    ControlGroup group(root_, kMount, "cpu");
    group.make(7, journal_);
    tree_.put(group.folder() + "/cgroup.procs", "");
    return group;
  }
  std::vector<std::string> homes() const {
    std::vector<std::string> homes;
    for (const SavedEntry& entry : journal_.entries()) {
      if (entry.role == SavedRole::group_home) homes.push_back(entry.text);
    }
    return homes;
  }

  const fakes::TempTree tree_, state_;
  Sysroot root_{tree_.root()};
  KnobJournal journal_{root_, state_.at("/knobs.journal")};
};

// A trainer may start its daemon itself, and one with a helper has it as another process.
TEST_F(GroupMembers, WhatGearshiftRunsIsHeldByNoLimitOfItsOwn) {
  constexpr int kDaemon = 8;
  put_process(7, "python", std::to_string(kDaemon) + " 9 " + std::to_string(getpid()) + " ");
  put_process(kDaemon, "gearshift", "10 ");
  put_process(9, "python", "");
  put_process(10, kGuardianName, "");
  put_process(getpid(), "gearshift-helpe", "11 ");
  put_process(11, kGuardianName, "");
  ControlGroup group = made();
  group.spare(kDaemon);
  group.adopt(7, journal_);
  EXPECT_EQ(homes(), (std::vector<std::string>{"7 /sys/fs/cgroup/user/shell",
                                               "9 /sys/fs/cgroup/user/shell"}));
  for (const int own : {kDaemon, 10, 11, static_cast<int>(getpid())}) {
    EXPECT_THROW(group.adopt(own, journal_), KnobError) << own;
  }
  EXPECT_EQ(homes().size(), 2u);
}

// What the main process of a container says of itself, and every process's ancestor outside.
TEST_F(GroupMembers, TheFirstProcessOfAllIsNoWorkload) {
  put_process(1, "systemd", "7 ");
  ControlGroup group = made();
  try {
    group.adopt(1, journal_);
    ADD_FAILURE() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("docker run --pid"), std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(homes().empty());
}

// A login session's slices have no cpuset, as systemd makes them.
TEST_F(GroupMembers, AControllerIsEnabledFromTheRootDownAndTakenBackUpwards) {
  const ControlGroup group = made();
  const std::string top = "/sys/fs/cgroup/cgroup.subtree_control";
  const std::string user = "/sys/fs/cgroup/user/cgroup.subtree_control";
  EXPECT_EQ(tree_.get(top), "+cpu");
  EXPECT_EQ(tree_.get(user), "+cpu");
  ASSERT_EQ(parse_journal(state_.get("/knobs.journal")).entries.size(), 3u);
  EXPECT_EQ(journal_.entries()[0].path, top);
  tree_.remove(group.folder() + "/cgroup.procs");
  EXPECT_EQ(
      journal_.restore().restored,
      (std::vector<std::string>{group.folder() + ": processes moved back, control group removed",
                                user + ": -cpu", top + ": -cpu"}));
}

TEST_F(GroupMembers, AGroupThatSomebodyHasRemovedIsMadeAnew) {
  ControlGroup group = made();
  group.adopt(7, journal_);
  const std::string folder = group.folder();
  tree_.remove(folder);
  group.make(7, journal_);
  EXPECT_TRUE(std::filesystem::exists(tree_.at(folder)));
  EXPECT_TRUE(homes().empty()) << "of the group before";
}

}  // namespace
}  // namespace gearshift
