// Clusters of cores that sleep and wake.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "actuators/board_actuator.h"
#include "actuators/guardian.h"
#include "actuators/knob_control.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"
#include "tests/fakes/ticking_clock.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;
using fakes::knob_failure;

// A plain file takes every write. While one of these lives, the file at `path` answers EBUSY.
class BusyFile {
 public:
  explicit BusyFile(std::filesystem::path path) : path_(std::move(path)) { newest = this; }
  BusyFile(const BusyFile&) = delete;
  BusyFile& operator=(const BusyFile&) = delete;
  ~BusyFile() { newest = nullptr; }

  bool is(int descriptor) const {
    struct stat one {
    }, other{};
    return fstat(descriptor, &one) == 0 && stat(path_.c_str(), &other) == 0 &&
           one.st_ino == other.st_ino && one.st_dev == other.st_dev;
  }

  static inline const BusyFile* newest = nullptr;
  std::function<void()> meanwhile = [] {};  // what happens while it is written

 private:
  const std::filesystem::path path_;
};

class CpuClockTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return state_.at("/knobs.journal"); }
  std::string limits_of(int policy) const {
    const std::string folder = DirectoryBoard::policy(policy);
    return board_.get(folder + "/scaling_min_freq") + " to " +
           board_.get(folder + "/scaling_max_freq");
  }
  void show_cores(int policy, const std::string& cores) const {
    board_.put(DirectoryBoard::policy(policy) + "/affected_cpus", cores);
  }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
  const BoardDescription description_ = board_.description();
};

// Before Linux 5.19: nothing but the empty list of its cores says that a cluster is asleep.
TEST_F(CpuClockTest, OfAClusterWithoutCoresIsLeftAloneThoughItsFilesShowSomething) {
  const std::string found = limits_of(8);
  show_cores(0, "0 1 2 3");
  show_cores(4, "4 5 6 7");
  show_cores(8, "");
  BoardActuator actuator(description_, root_, {journal()});
  apply_knob(actuator, "cpu_mhz", 1113600);
  EXPECT_EQ(limits_of(4), "1113600 to 1113600");
  EXPECT_EQ(limits_of(8), found);
  EXPECT_EQ(actuator.read(1), 1113600) << "what it last held says nothing";

  show_cores(8, "8 9");
  EXPECT_NE(actuator.read(1), 1113600);
  apply_knob(actuator, "cpu_mhz", 1113600);
  EXPECT_EQ(limits_of(8), "1113600 to 1113600");
  actuator.restore();
  EXPECT_EQ(limits_of(8), found);
}

TEST_F(CpuClockTest, OfAClusterThatWokeUnsavedIsLeftToItsOwnerAndTheRestIsSteppedDown) {
  const std::string asleep = DirectoryBoard::policy(8);
  const std::string lowest = board_.get(asleep + "/scaling_min_freq");
  const std::string highest = board_.get(asleep + "/scaling_max_freq");
  for (const char* file : {"/scaling_min_freq", "/scaling_max_freq"}) board_.remove(asleep + file);
  BoardActuator owner(description_, root_, {journal()});
  apply_knob(owner, "cpu_mhz", 2201600);
  apply_knob(owner, "gpu_mhz", 1300500);
  board_.settle();
  // Its cores come back, and the loop stands still before it pins them.
  board_.put(asleep + "/scaling_min_freq", lowest);
  board_.put(asleep + "/scaling_max_freq", highest);

  step_to_safe_mode(description_, root_, fakes::TickingClock(), journal());

  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
  EXPECT_EQ(limits_of(0), "729600 to 729600");
  EXPECT_EQ(limits_of(8), lowest + " to " + highest) << "nobody could put it back";
}

class BusyCpuClock : public CpuClockTest {
 protected:
  void expect_told(const std::string& failure) const {
    EXPECT_NE(failure.find("scaling_max_freq: Device or resource busy"), std::string::npos)
        << failure;
  }
  // What is said of a limit below the one that is set.
  std::string lower() {
    BoardActuator actuator(description_, root_, {journal()});
    return knob_failure(actuator, "cpu_mhz", 1113600);
  }

  BusyFile busy_{board_.at(DirectoryBoard::policy(0) + "/scaling_max_freq")};
};

TEST_F(BusyCpuClock, OfAClusterWithCoresIsToldAndTheOthersAreSet) {
  show_cores(0, "0 1 2 3");
  expect_told(lower());
  EXPECT_EQ(limits_of(4), "1113600 to 1113600");
  EXPECT_EQ(limits_of(8), "1113600 to 1113600");
}

TEST_F(BusyCpuClock, OfAClusterThatFallsAsleepMeanwhileIsNoFailure) {
  show_cores(0, "0");
  busy_.meanwhile = [this] { show_cores(0, ""); };
  EXPECT_EQ(lower(), "no KnobError");
  EXPECT_EQ(limits_of(4), "1113600 to 1113600");
}

TEST_F(BusyCpuClock, OfAClusterThatDoesNotTellItsCoresIsTakenToSleep) {
  EXPECT_EQ(lower(), "no KnobError");
  EXPECT_EQ(limits_of(4), "1113600 to 1113600");
}

// Zero is how a limit is taken away.
TEST_F(CpuClockTest, WhatIsNoClockInATableIsNoValue) {
  const auto values = [this](const std::string& table) {
    for (const int policy : {0, 4, 8}) {
      board_.put(DirectoryBoard::policy(policy) + "/scaling_available_frequencies", table);
    }
    std::string finding;
    const auto control = open_knob(description_.knobs[1], root_, finding);
    EXPECT_NE(finding.find("no clock"), std::string::npos) << finding;
    return control->knob().values;
  };
  EXPECT_EQ(values("0 729600 1510400"), (std::vector<std::int64_t>{729600, 1510400}));
  EXPECT_EQ(values("-5 99999999999 115200"), (std::vector<std::int64_t>{115200}));
  EXPECT_EQ(values("0 -1"), description_.knobs[1].knob.values) << "the board file's";
}

}  // namespace
}  // namespace gearshift

// In the place of the C library's, for this program.
extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  if (const auto* busy = gearshift::BusyFile::newest; busy != nullptr && busy->is(descriptor)) {
    busy->meanwhile();
    errno = EBUSY;
    return -1;
  }
  return syscall(SYS_pwrite64, descriptor, bytes, size, at);
}
