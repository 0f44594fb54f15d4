#include "actuators/board_actuator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "actuators/knob_control.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/directory_board.h"

namespace gearshift {
namespace {

using fakes::apply_knob;
using fakes::DirectoryBoard;
using fakes::knob_failure;
using Paths = std::vector<std::string>;

class BoardActuatorTest : public testing::Test {
 protected:
  BoardActuator make() { return {board_.description(), root_, {state_.at("/knobs.journal")}}; }

  static std::size_t knob(const BoardActuator& actuator, std::string_view name) {
    const auto found = actuator.knobs().find(name);
    EXPECT_TRUE(found) << name;
    return found.value_or(0);
  }

  DirectoryBoard board_;
  fakes::TempTree state_;
  Sysroot root_{board_.root()};
};

TEST_F(BoardActuatorTest, LiveTablesWinOverTheBoardFile) {
  BoardActuator actuator = make();
  ASSERT_TRUE(actuator.absent().empty()) << actuator.absent()[0].reason;
  const KnobSpace& space = actuator.knobs();
  EXPECT_EQ(space.knobs[0].values, (std::vector<std::int64_t>{1, 2, 4, 8, 12}));
  EXPECT_EQ(space.knobs[1].values, (std::vector<std::int64_t>{729600, 1113600, 1728000, 2201600}));
  EXPECT_EQ(space.knobs[2].values, (std::vector<std::int64_t>{306000, 612000, 1109250, 1300500}));
  EXPECT_EQ(space.knobs[3].values, (std::vector<std::int64_t>{204000, 665600, 2133000, 3199000}));
}

TEST_F(BoardActuatorTest, LongTablesOfTheKernelAreThinnedToWhatIsHeld) {
  std::string table;
  for (int mhz = 100; mhz <= 4000; ++mhz) table += std::to_string(mhz * 1000) + " ";
  for (const int policy : {0, 4, 8}) {
    board_.put(DirectoryBoard::policy(policy) + "/scaling_available_frequencies", table);
  }
  board_.put(DirectoryBoard::gpu("available_frequencies"), "900000000 " + table);
  const BoardActuator actuator = make();
  const KnobSpace& space = actuator.knobs();
  EXPECT_LE(bounded_mode_count(space), kMaxModes);
  EXPECT_EQ(space.knobs[0].values.size(), 5U);
  EXPECT_EQ(space.knobs[1].values.front(), 100'000);
  EXPECT_EQ(space.knobs[1].values.back(), 4'000'000);
  EXPECT_EQ(space.knobs[3].values.size(), 4U);
  bool told = false;
  for (const std::string& finding : actuator.findings()) {
    told = told || finding.find("of its 3901 values") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(BoardActuatorTest, CountsNoMoreCoresThanThereAre) {
  board_.put(std::string(DirectoryBoard::kCpu) + "/possible", "0-6");
  BoardActuator actuator = make();
  EXPECT_EQ(actuator.knobs().knobs[0].values, (std::vector<std::int64_t>{1, 2, 4, 7}));
}

TEST_F(BoardActuatorTest, NothingIsWrittenBeforeTheFirstWrite) {
  board_.record();
  BoardActuator actuator = make();
  for (std::size_t i = 0; i < actuator.knobs().size(); ++i) actuator.read(i);
  EXPECT_EQ(board_.written(), Paths{});
  EXPECT_EQ(root_.writes(), 0u);
}

TEST_F(BoardActuatorTest, RaisesTheMaximumFirstOnEveryPolicy) {
  BoardActuator actuator = make();
  board_.record();
  EXPECT_EQ(apply_knob(actuator, "cpu_mhz", 2201600), 1);
  Paths expected;
  for (const int policy : {0, 4, 8}) {
    expected.push_back(DirectoryBoard::policy(policy) + "/scaling_max_freq");
    expected.push_back(DirectoryBoard::policy(policy) + "/scaling_min_freq");
  }
  EXPECT_EQ(board_.written(), expected);
  EXPECT_EQ(actuator.read(1), 2201600);
  EXPECT_EQ(board_.get(DirectoryBoard::policy(8) + "/scaling_min_freq"), "2201600");
}

TEST_F(BoardActuatorTest, LowersTheMinimumFirst) {
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 2201600);
  board_.record();
  apply_knob(actuator, "cpu_mhz", 729600);
  const Paths written = board_.written();
  ASSERT_EQ(written.size(), 6u);
  EXPECT_EQ(written[0], DirectoryBoard::policy(0) + "/scaling_min_freq");
  EXPECT_EQ(written[1], DirectoryBoard::policy(0) + "/scaling_max_freq");
}

TEST_F(BoardActuatorTest, RaisesAndLowersTheGpuInTheSafeOrderInHertz) {
  BoardActuator actuator = make();
  board_.record();
  apply_knob(actuator, "gpu_mhz", 1300500);
  const std::string node = "/sys/devices/platform/bus@0/17000000.gpu/devfreq/17000000.gpu";
  EXPECT_EQ(board_.written(), (Paths{node + "/max_freq", node + "/min_freq"}));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("min_freq")), "1300500000");
  board_.settle();
  EXPECT_EQ(actuator.read(2), 1300500);
  board_.written();
  apply_knob(actuator, "gpu_mhz", 306000);
  EXPECT_EQ(board_.written(), (Paths{node + "/min_freq", node + "/max_freq"}));
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000");
}

TEST_F(BoardActuatorTest, SeesAGpuClockThatDoesNotFollowItsLimits) {
  BoardActuator actuator = make();
  apply_knob(actuator, "gpu_mhz", 1300500);
  board_.put(DirectoryBoard::gpu("cur_freq"), "1109250000");
  EXPECT_EQ(actuator.read(2), 1109250);
  // A GPU asleep shows an old clock, which says nothing.
  board_.put("/sys/devices/platform/bus@0/17000000.gpu/is_railgated", "yes");
  EXPECT_EQ(actuator.read(2), 1300500);
}

TEST_F(BoardActuatorTest, SeesACpuClockThatDoesNotFollowItsLimits) {
  for (const int policy : {0, 4, 8}) {
    board_.put(DirectoryBoard::policy(policy) + "/scaling_cur_freq", "729600");
  }
  BoardActuator actuator = make();
  EXPECT_EQ(actuator.read(1), 1728000) << "nothing was pinned: the governor moves the clock";
  apply_knob(actuator, "cpu_mhz", 2201600);
  EXPECT_EQ(actuator.read(1), 729600);
  board_.put(DirectoryBoard::policy(0) + "/scaling_cur_freq", "2201600");
  board_.put(DirectoryBoard::policy(4) + "/scaling_cur_freq", "2189000");  // as counters measure
  EXPECT_EQ(actuator.read(1), 729600) << "one of three policies does not follow";
  // A policy asleep shows no clock, or one that says nothing.
  for (const std::string_view text : {"", "0", "<unknown>"}) {
    board_.put(DirectoryBoard::policy(8) + "/scaling_cur_freq", text);
    EXPECT_EQ(actuator.read(1), 2201600) << text;
  }
}

TEST_F(BoardActuatorTest, WatchesTheClockOfAPolicyThatWasAsleepAtFirst) {
  const std::string asleep = DirectoryBoard::policy(8);
  for (const char* file : {"/scaling_min_freq", "/scaling_max_freq"}) board_.remove(asleep + file);
  board_.put(asleep + "/scaling_available_frequencies", "");
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 1113600);
  board_.put(asleep + "/scaling_min_freq", "1113600");
  board_.put(asleep + "/scaling_max_freq", "1113600");
  board_.put(asleep + "/scaling_cur_freq", "729600");
  EXPECT_EQ(actuator.read(1), 729600);
}

TEST_F(BoardActuatorTest, AMovedLimitIsToldAtOnceWhateverTheClockDoes) {
  board_.put(DirectoryBoard::policy(0) + "/scaling_cur_freq", "1728000");
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 1728000);
  EXPECT_EQ(actuator.read(1), 1728000);
  board_.put(DirectoryBoard::policy(0) + "/scaling_max_freq", "1113600");
  EXPECT_EQ(actuator.read(1), 1113600);
}

TEST_F(BoardActuatorTest, AClockOfADriverWithoutATableSaysNothing) {
  for (const int policy : {0, 4, 8}) {
    board_.remove(DirectoryBoard::policy(policy) + "/scaling_available_frequencies");
    board_.put(DirectoryBoard::policy(policy) + "/scaling_cur_freq", "800123");
  }
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 1);
  EXPECT_EQ(actuator.read(1), 1);
}

TEST_F(BoardActuatorTest, RaisesTheMemoryCapBeforeTheRateAndLowersItAfter) {
  BoardActuator actuator = make();
  board_.record();
  apply_knob(actuator, "mem_mhz", 3199000);
  EXPECT_EQ(board_.written(),
            (Paths{DirectoryBoard::emc("mrq_rate_locked"), std::string(DirectoryBoard::kCap),
                   DirectoryBoard::emc("rate")}));
  EXPECT_EQ(board_.get(DirectoryBoard::kCap), "3199000000");
  EXPECT_EQ(actuator.read(3), 3199000);
  apply_knob(actuator, "mem_mhz", 665600);
  EXPECT_EQ(board_.written(),
            (Paths{DirectoryBoard::emc("rate"), std::string(DirectoryBoard::kCap)}));
  EXPECT_EQ(board_.get(DirectoryBoard::kCap), "2133000000") << "no lower than it was found";
  EXPECT_EQ(board_.get(DirectoryBoard::emc("rate")), "665600000");
}

TEST_F(BoardActuatorTest, LocksTheMemoryRateAgainWhenAnotherProgramOpenedIt) {
  BoardActuator actuator = make();
  apply_knob(actuator, "mem_mhz", 204000);
  board_.put(DirectoryBoard::emc("mrq_rate_locked"), "0");
  board_.put(DirectoryBoard::emc("rate"), "2133000000");
  EXPECT_EQ(actuator.read(3), 2133000);
  apply_knob(actuator, "mem_mhz", 204000);
  EXPECT_EQ(board_.get(DirectoryBoard::emc("mrq_rate_locked")), "1");
  EXPECT_EQ(actuator.read(3), 204000);
}

TEST_F(BoardActuatorTest, MovesOneCoreAWrite) {
  BoardActuator actuator = make();
  EXPECT_EQ(actuator.read(0), 8);
  board_.record();
  EXPECT_EQ(actuator.write(0, 12), Progress::more);
  EXPECT_EQ(board_.written(), Paths{DirectoryBoard::cpu(8) + "/online"});
  EXPECT_EQ(actuator.write(0, 12), Progress::more);
  EXPECT_EQ(actuator.write(0, 12), Progress::more);
  EXPECT_EQ(actuator.write(0, 12), Progress::done);
  EXPECT_EQ(actuator.write(0, 12), Progress::done);
  board_.settle();
  EXPECT_EQ(actuator.read(0), 12);
}

TEST_F(BoardActuatorTest, TakesTheHighestCoreFirstAndNeverTheFirstCore) {
  BoardActuator actuator = make();
  board_.record();
  EXPECT_EQ(apply_knob(actuator, "cpu_cores", 1), 7);
  Paths expected;
  for (int core = 7; core >= 1; --core) expected.push_back(DirectoryBoard::cpu(core) + "/online");
  EXPECT_EQ(board_.written(), expected);
  EXPECT_EQ(board_.get(DirectoryBoard::cpu(0) + "/online"), "1");
}

TEST_F(BoardActuatorTest, SeesThatAnotherProgramSwappedCores) {
  BoardActuator actuator = make();
  EXPECT_EQ(apply_knob(actuator, "cpu_cores", 8), 1);
  board_.put(DirectoryBoard::cpu(3) + "/online", "0");
  board_.put(DirectoryBoard::cpu(9) + "/online", "1");
  board_.settle();
  EXPECT_EQ(actuator.read(0), 3) << "as many cores, but not the same ones";
  EXPECT_EQ(apply_knob(actuator, "cpu_cores", 8), 2);
  board_.settle();
  EXPECT_EQ(actuator.read(0), 8);
}

TEST_F(BoardActuatorTest, ReportsWhatAnotherProgramWrote) {
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 1728000);
  board_.put(DirectoryBoard::policy(4) + "/scaling_max_freq", "1113600");
  EXPECT_EQ(actuator.read(1), 1113600);
  board_.put(DirectoryBoard::policy(4) + "/scaling_max_freq", "1728000");
  board_.put(DirectoryBoard::policy(4) + "/scaling_min_freq", "729600");
  EXPECT_EQ(actuator.read(1), 729600) << "a lowered minimum lets the governor go down";
  apply_knob(actuator, "cpu_mhz", 1728000);
  EXPECT_EQ(actuator.read(1), 1728000);
}

TEST_F(BoardActuatorTest, SkipsAPolicyAsleepAndPinsItWhenItsCoresComeBack) {
  // The folder of a policy whose cores are offline is there, its files are not.
  const std::string asleep = DirectoryBoard::policy(8);
  board_.remove(asleep + "/scaling_min_freq");
  board_.remove(asleep + "/scaling_max_freq");
  BoardActuator actuator = make();
  EXPECT_EQ(apply_knob(actuator, "cpu_mhz", 1113600), 1);
  EXPECT_EQ(actuator.read(1), 1113600);
  board_.put(asleep + "/scaling_min_freq", "729600");
  board_.put(asleep + "/scaling_max_freq", "2201600");
  EXPECT_EQ(actuator.read(1), 2201600) << "a policy that wakes brings limits of its own";
  EXPECT_EQ(apply_knob(actuator, "cpu_mhz", 1113600), 1);
  EXPECT_EQ(board_.get(asleep + "/scaling_min_freq"), "1113600");
  actuator.restore();
  EXPECT_EQ(board_.get(asleep + "/scaling_min_freq"), "729600");
  EXPECT_EQ(board_.get(asleep + "/scaling_max_freq"), "2201600");
}

// Files that the kernel makes anew may be closed to a user who was given the old ones.
TEST_F(BoardActuatorTest, APolicyThatComesBackAndCannotBeOpenedIsUnknown) {
  const std::string policy = DirectoryBoard::policy(4);
  board_.remove(policy + "/scaling_max_freq");
  board_.remove(policy + "/scaling_min_freq");
  BoardActuator actuator = make();
  const std::size_t clock = *actuator.knobs().find("cpu_mhz");
  EXPECT_TRUE(actuator.read(clock));
  board_.folder(policy + "/scaling_max_freq");
  board_.put(policy + "/scaling_min_freq", "115200");
  EXPECT_FALSE(actuator.read(clock));
}

TEST_F(BoardActuatorTest, AbsentKnobsSayWhy) {
  board_.remove("/sys/kernel/debug");
  board_.remove(DirectoryBoard::kGpu);
  BoardActuator actuator = make();
  ASSERT_EQ(actuator.absent().size(), 2u);
  EXPECT_EQ(actuator.absent()[0].name, "gpu_mhz");
  EXPECT_NE(actuator.absent()[0].reason.find("15340000.vic"), std::string::npos)
      << actuator.absent()[0].reason;
  EXPECT_EQ(actuator.absent()[1].name, "mem_mhz");
  EXPECT_NE(actuator.absent()[1].reason.find("debugfs"), std::string::npos);
  EXPECT_EQ(actuator.knobs().size(), 2u);
  EXPECT_TRUE(actuator.writable());
}

TEST_F(BoardActuatorTest, AnEmptyBoardHasNoKnobsAndTakesNoLock) {
  fakes::TempTree empty;
  Sysroot nothing(empty.root());
  BoardActuator actuator(board_.description(), nothing, {state_.at("/knobs.journal")});
  EXPECT_FALSE(actuator.writable());
  EXPECT_EQ(actuator.absent().size(), 4u);
  EXPECT_FALSE(std::filesystem::exists(state_.at("/knobs.journal.lock")));
  actuator.restore();
}

TEST_F(BoardActuatorTest, WithoutAJournalNothingCanBeWritten) {
  state_.put("/file", "");
  BoardActuator actuator(board_.description(), root_, {state_.at("/file/knobs.journal")});
  EXPECT_FALSE(actuator.writable());
  ASSERT_EQ(actuator.absent().size(), 4u);
  EXPECT_NE(actuator.absent()[0].reason.find("--state"), std::string::npos);
}

TEST_F(BoardActuatorTest, AFileThatFailsNamesKnobAndPath) {
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_mhz", 1113600);
  board_.put(DirectoryBoard::emc("mrq_rate_locked"), "broken");
  const std::string text = knob_failure(actuator, "mem_mhz", 204000);
  EXPECT_NE(text.find("mem_mhz: "), std::string::npos) << text;
  EXPECT_NE(text.find("mrq_rate_locked"), std::string::npos) << text;
}

TEST_F(BoardActuatorTest, RestoresEveryByte) {
  const auto before = board_.bytes();
  BoardActuator actuator = make();
  apply_knob(actuator, "cpu_cores", 2);
  apply_knob(actuator, "cpu_mhz", 2201600);
  apply_knob(actuator, "gpu_mhz", 1300500);
  apply_knob(actuator, "mem_mhz", 3199000);
  EXPECT_NE(board_.bytes(), before);
  actuator.restore();
  board_.settle();
  EXPECT_EQ(board_.bytes(), before);
  EXPECT_FALSE(std::filesystem::exists(state_.at("/knobs.journal")));
}

TEST_F(BoardActuatorTest, SavesAgainAfterARestore) {
  BoardActuator actuator = make();
  apply_knob(actuator, "gpu_mhz", 306000);
  actuator.restore();
  board_.put(DirectoryBoard::gpu("max_freq"), "1109250000");
  apply_knob(actuator, "gpu_mhz", 306000);
  actuator.restore();
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "1109250000");
}

TEST_F(BoardActuatorTest, OnlyOneHoldsTheJournal) {
  BoardActuator first = make();
  try {
    make();
    FAIL() << "a second actuator took the journal";
  } catch (const BusyError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("pid " + std::to_string(getpid())), std::string::npos) << text;
    EXPECT_NE(text.find(state_.at("/knobs.journal").string()), std::string::npos) << text;
  }
  apply_knob(first, "gpu_mhz", 306000);
  EXPECT_THROW(restore_from_journal(root_, state_.at("/knobs.journal")), BusyError);
  EXPECT_EQ(board_.get(DirectoryBoard::gpu("max_freq")), "306000000") << "nothing was restored";
}

TEST(ReadBack, OtherValuesWaitAndTheLastLookIsAnErrorWithBothValues) {
  const Knob knob{"gpu_mhz", Unit::khz, KnobClass::clock, {1109250, 1300500}};
  ReadBack read_back;
  for (int look = 1; look < ReadBack::kLooks; ++look) {
    EXPECT_EQ(read_back.not_taken(knob, 1300500, 1109250, "/sys/max_freq"), Progress::more);
  }
  try {
    read_back.not_taken(knob, 1300500, 1109250, "/sys/max_freq");
    FAIL() << "no KnobError";
  } catch (const KnobError& error) {
    EXPECT_STREQ(error.what(),
                 "gpu_mhz: wrote 1300.5, still 1109.25 (/sys/max_freq); another program or a "
                 "locked clock holds it");
  }
  for (const std::int64_t value : {1300500, 1109250}) {  // another value begins anew
    for (int look = 1; look < ReadBack::kLooks; ++look) {
      EXPECT_EQ(read_back.not_taken(knob, value, std::nullopt, "/sys/max_freq"), Progress::more);
    }
  }
  EXPECT_EQ(read_back.taken(), Progress::done);
  EXPECT_EQ(read_back.not_taken(knob, 1109250, std::nullopt, "/sys/max_freq"), Progress::more);
}

}  // namespace
}  // namespace gearshift
