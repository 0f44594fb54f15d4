// What the group that a workload was found in leaves for it, and how it gets back there when it
// leaves, on the real control groups of this machine. Skipped without root or cgroup version 1.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "actuators/board_actuator.h"
#include "actuators/control_group.h"
#include "actuators/knob_journal.h"
#include "actuators/number_list.h"
#include "tests/actuators/host_groups.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

// Does nothing until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    while (pid_ == 0) pause();
  }
  ~Sleeper() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

// A group of a test's own in the hierarchy of `controller`, beside this process.
class HomeGroup {
 public:
  HomeGroup(Sysroot& root, const std::string& controller)
      : root_(root),
        around_(ControlGroup(root, kMount, controller).own_home()),
        folder_(around_ + "/gearshift-home-" + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
  }
  const std::string& folder() const { return folder_; }
  std::string text(const std::string& file) const { return root_.read(folder_ + '/' + file); }
  std::string around(const std::string& file) const { return root_.read(around_ + '/' + file); }
  void put(const std::string& file, const std::string& text) {
    root_.write(folder_ + '/' + file, text);
  }
  std::string ours(const std::string& file) const {
    return root_.read(folder_ + "/gearshift-" + std::to_string(getpid()) + '/' + file);
  }

 private:
  Sysroot& root_;
  const std::string around_, folder_;
};

class WorkloadHomesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "making control groups needs root";
    try {
      const ControlGroup group(root_, kMount, "cpu");
      if (group.version() == ControlGroup::Version::v2) GTEST_SKIP() << "cgroup version 2 here";
    } catch (const KnobError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // What a test that fails has left would be in the way of the next one.
  void TearDown() override {
    restore_from_journal(root_, state_.at("/knobs.journal"));
    std::error_code ignored;
    if (!home_.empty()) std::filesystem::remove(home_, ignored);
  }

  HomeGroup make_home(const std::string& controller) {
    HomeGroup home(root_, controller);
    home_ = home.folder();
    return home;
  }
  BoardActuator make() { return {host(), root_, {state_.at("/knobs.journal")}}; }
  std::string groups(pid_t pid) const {
    return root_.read("/proc/" + std::to_string(pid) + "/cgroup");
  }
  bool is_in_ours(pid_t pid) const {
    return groups(pid).find("/gearshift-" + std::to_string(getpid())) != std::string::npos;
  }

  fakes::TempTree state_;
  Sysroot root_;
  std::string home_;  // to be removed
};

TEST_F(WorkloadHomesTest, AWorkloadThatLeavesIsLetGoAndTheOtherIsHeldOn) {
  const Sleeper train, infer;
  const std::string before = groups(train.pid());
  BoardActuator actuator = make();
  actuator.manage(train.pid(), Kind::train);
  actuator.manage(infer.pid(), Kind::infer);
  EXPECT_EQ(actuator.write(1, 10), Progress::done);
  actuator.manage(0, Kind::train);
  EXPECT_EQ(groups(train.pid()), before);
  EXPECT_TRUE(is_in_ours(infer.pid()));
  EXPECT_EQ(actuator.write(1, 20), Progress::done);
  actuator.manage(0, Kind::infer);
  EXPECT_EQ(groups(infer.pid()), before);
  EXPECT_FALSE(std::filesystem::exists(state_.at("/knobs.journal"))) << "nothing is to put back";
  EXPECT_EQ(actuator.write(1, 30), Progress::done) << "for the next one";
  actuator.manage(train.pid(), Kind::train);
  EXPECT_TRUE(is_in_ours(train.pid()));
  EXPECT_EQ(actuator.read(1), 30);
  actuator.restore();
  EXPECT_EQ(groups(train.pid()), before);
}

// It trains and serves in turns.
TEST_F(WorkloadHomesTest, AProcessThatIsOfBothKindsIsHeldUntilBothHaveLeft) {
  const Sleeper both;
  const std::string before = groups(both.pid());
  BoardActuator actuator = make();
  actuator.manage(both.pid(), Kind::train);
  actuator.manage(both.pid(), Kind::infer);
  actuator.manage(0, Kind::train);
  EXPECT_TRUE(is_in_ours(both.pid()));
  actuator.manage(0, Kind::infer);
  EXPECT_EQ(groups(both.pid()), before);
}

TEST_F(WorkloadHomesTest, ANewOneOfItsKindTakesThePlaceOfTheOldOne) {
  const Sleeper old, fresh;
  const std::string before = groups(old.pid());
  BoardActuator actuator = make();
  actuator.manage(old.pid(), Kind::train);
  actuator.manage(fresh.pid(), Kind::train);
  EXPECT_EQ(groups(old.pid()), before);
  EXPECT_TRUE(is_in_ours(fresh.pid()));
  actuator.restore();
}

TEST_F(WorkloadHomesTest, AShareAboveTheQuotaOfItsHomeIsAllOfThat) {
  HomeGroup home = make_home("cpu");
  home.put("cpu.cfs_quota_us", "50000");
  const Sleeper process;
  home.put("cgroup.procs", std::to_string(process.pid()));
  BoardActuator actuator = make();
  const std::int64_t most = actuator.knobs().knobs[1].values.back();
  actuator.manage(process.pid(), Kind::train);
  EXPECT_EQ(home.ours("cgroup.procs"), std::to_string(process.pid()));
  EXPECT_EQ(home.ours("cpu.cfs_quota_us"), "50000");
  EXPECT_EQ(actuator.read(1), most);
  EXPECT_EQ(actuator.write(1, 30), Progress::done);
  EXPECT_EQ(home.ours("cpu.cfs_quota_us"), "30000");
  EXPECT_EQ(actuator.write(1, 90), Progress::done);
  EXPECT_EQ(home.ours("cpu.cfs_quota_us"), "50000");
  actuator.restore();
  EXPECT_EQ(home.text("cpu.cfs_quota_us"), "50000");
}

TEST_F(WorkloadHomesTest, CoresAreThoseOfItsHome) {
  HomeGroup home = make_home("cpuset");
  const auto all = parse_cpu_set(home.around("cpuset.cpus"));
  ASSERT_TRUE(all);
  if (all->count() < 2) GTEST_SKIP() << "needs two CPUs";
  std::size_t last = 0;
  for (std::size_t cpu = 0; cpu < kMaxCpus; ++cpu) {
    if ((*all)[cpu]) last = cpu;
  }
  home.put("cpuset.cpus", std::to_string(last));
  home.put("cpuset.mems", home.around("cpuset.mems"));
  const Sleeper process;
  home.put("cgroup.procs", std::to_string(process.pid()));
  BoardActuator actuator = make();
  actuator.manage(process.pid(), Kind::train);
  EXPECT_EQ(home.ours("cpuset.cpus"), std::to_string(last));
  EXPECT_EQ(home.ours("cgroup.procs"), std::to_string(process.pid()));
  EXPECT_EQ(actuator.read(0), actuator.knobs().knobs[0].values.back());
  EXPECT_EQ(actuator.write(0, 1), Progress::done);
  actuator.restore();
}

}  // namespace
}  // namespace gearshift
