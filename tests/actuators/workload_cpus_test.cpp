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
#include "actuators/guardian.h"
#include "tests/actuators/host_groups.h"
#include "tests/fakes/temp_tree.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

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
  EXPECT_THROW(actuator.manage(-1, Kind::train), KnobError);
  try {
    actuator.manage(1 << 22, Kind::train);  // above every pid that Linux gives
    FAIL() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_cores: "), std::string::npos) << error.what();
  }
  actuator.restore();
}

// A folder in the way of the journal stands for a full disk.
TEST_F(WorkloadCpusTest, NothingIsSaidToBeSetOfAWorkloadThatIsInNoGroup) {
  IdleProcess process;
  const std::string before = groups(process.pid());
  BoardActuator actuator = make();
  state_.folder("/knobs.journal.new");
  EXPECT_THROW(actuator.manage(process.pid(), Kind::train), KnobError);
  EXPECT_EQ(groups(process.pid()), before);
  try {
    actuator.write(1, 30);
    ADD_FAILURE() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu_quota_percent: cannot be set: knob journal"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(actuator.read(1), std::nullopt);
  state_.remove("/knobs.journal.new");
  actuator.manage(process.pid(), Kind::train);
  EXPECT_EQ(actuator.read(1), 30) << "what was asked for last";
  EXPECT_EQ(actuator.write(1, 50), Progress::done);
  EXPECT_EQ(actuator.read(1), 50);
  actuator.restore();
  EXPECT_EQ(groups(process.pid()), before);
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

TEST_F(WorkloadCpusTest, TheSafeModeIsSetInTheGroupsOfAnotherProcess) {
  IdleProcess process;
  BoardActuator owner = make();
  const std::int64_t most = owner.knobs().knobs[1].values.back();
  owner.manage(process.pid(), Kind::train);
  EXPECT_EQ(owner.write(1, most), Progress::done);
  const fakes::TickingClock clock;
  EXPECT_EQ(step_to_safe_mode(host(), root_, clock, journal()), "");
  EXPECT_EQ(owner.read(0), 1);
  EXPECT_EQ(owner.read(1), 10);
  owner.restore();
}

TEST_F(WorkloadCpusTest, BesideAJournalWithoutAGroupNothingIsSaidToBeSet) {
  KnobJournal owner(root_, journal());
  owner.save(SavedRole::fan_duty, "/sys/class/hwmon/hwmon0/pwm1", "0");
  owner.commit();
  const fakes::TickingClock clock;
  const std::string failure = step_to_safe_mode(host(), root_, clock, journal()).value_or("");
  EXPECT_NE(failure.find("cpu_cores: cannot be set: no workload is in a control group"),
            std::string::npos)
      << failure;
  EXPECT_NE(failure.find("cpu_quota_percent: cannot be set"), std::string::npos) << failure;
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

}  // namespace
}  // namespace gearshift
