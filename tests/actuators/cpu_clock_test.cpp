// Clusters of cores that sleep and wake.
#include <gtest/gtest.h>

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
