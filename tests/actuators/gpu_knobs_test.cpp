#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "actuators/board_actuator.h"
#include "actuators/gpu_restore.h"
#include "actuators/knob_journal.h"
#include "tests/fakes/apply_knob.h"
#include "tests/fakes/fake_gpus.h"

namespace gearshift {
namespace {

using fakes::knob_failure;
using Values = std::vector<std::int64_t>;

class GpuKnobsTest : public testing::Test {
 protected:
  GpuKnobsTest() { gpus_.add(0); }

  BoardActuator make() { return {fakes::gpu_board(), root_, {journal()}}; }
  std::filesystem::path journal() const { return state_.at("/knobs.journal"); }
  static std::size_t knob(const BoardActuator& actuator, std::string_view name) {
    const auto found = actuator.knobs().find(name);
    EXPECT_TRUE(found) << name;
    return found.value_or(0);
  }
  static Values values(const BoardActuator& actuator, std::string_view name) {
    return actuator.knobs().knobs.at(knob(actuator, name)).values;
  }
  static Progress write(BoardActuator& actuator, std::string_view name, std::int64_t value) {
    return actuator.write(knob(actuator, name), value);
  }
  static std::optional<std::int64_t> read(BoardActuator& actuator, std::string_view name) {
    return actuator.read(knob(actuator, name));
  }
  static std::string reason(const BoardActuator& actuator, std::string_view name) {
    for (const AbsentKnob& absent : actuator.absent()) {
      if (absent.name == name) return absent.reason;
    }
    return "not absent";
  }
  static bool contains(const std::string& text, std::string_view words) {
    return text.find(words) != std::string::npos;
  }

  fakes::FakeGpus gpus_;
  fakes::TempTree state_;
  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
};

TEST_F(GpuKnobsTest, LimitsAreOfTheBoardFileWithinTheGpusRangeWithItsEndsAndDefault) {
  gpus_.put("limit_range_mw", "99500 310400");
  gpus_.put("limit_default_mw", "260000");
  const BoardActuator actuator = make();
  EXPECT_EQ(values(actuator, "power_limit_w"),
            (Values{100000, 125000, 150000, 175000, 200000, 225000, 250000, 260000, 275000, 300000,
                    310000}));
}

TEST_F(GpuKnobsTest, ClocksAreTheGpusOwnAndMemoryClocksThoseThatKeepTheWholeRange) {
  const BoardActuator actuator = make();
  EXPECT_EQ(values(actuator, "gpu_mhz"), (Values{300000, 600000, 900000, 1200000, 1410000}));
  EXPECT_EQ(values(actuator, "mem_mhz"), (Values{1215000, 1593000})) << "405 MHz is for idling";
}

TEST_F(GpuKnobsTest, MoreClocksThanABoardFileMayListAreUsedEvenlyAndWithBothEnds) {
  for (const std::size_t count : {256U, 257U, 300U}) {
    std::string clocks;
    for (std::size_t i = 0; i < count; ++i) clocks += std::to_string(300 + 5 * i) + ' ';
    gpus_.put("graphics_clocks", clocks);
    const BoardActuator actuator = make();
    const Values used = values(actuator, "gpu_mhz");
    EXPECT_EQ(used.size(), 256U) << count;
    EXPECT_EQ(used.front(), 300'000);
    EXPECT_EQ(used.back(), 300'000 + 5'000 * static_cast<std::int64_t>(count - 1));
    for (std::size_t i = 1; i < used.size(); ++i) {
      const std::int64_t step = used[i] - used[i - 1];
      EXPECT_TRUE(step == 5'000 || (count > 256 && step == 10'000)) << step;
    }
  }
}

TEST_F(GpuKnobsTest, ARangeThatMakesNoSenseIsAnAbsentKnob) {
  for (const char* range : {"0 0", "300000 100000", "250000 250000", "error 3"}) {
    gpus_.put("limit_range_mw", range);
    const BoardActuator actuator = make();
    EXPECT_FALSE(actuator.knobs().find("power_limit_w")) << range;
    EXPECT_TRUE(actuator.knobs().find("gpu_mhz")) << range;
  }
}

TEST_F(GpuKnobsTest, ALimitThatCouldNotBePutBackIsAnAbsentKnob) {
  for (const char* limit : {"0", "99999", "300001", "450000"}) {
    gpus_.put("limit_mw", limit);
    const BoardActuator actuator = make();
    EXPECT_TRUE(contains(reason(actuator, "power_limit_w"), "could not be put back")) << limit;
    EXPECT_TRUE(actuator.knobs().find("gpu_mhz")) << limit;
  }
  for (const char* limit : {"100000", "300000"}) {
    gpus_.put("limit_mw", limit);
    EXPECT_TRUE(make().knobs().find("power_limit_w")) << limit;
  }
}

TEST_F(GpuKnobsTest, ALimitThatCanNoLongerBePutBackIsNotWritten) {
  BoardActuator actuator = make();
  gpus_.put("limit_mw", "450000");
  EXPECT_TRUE(contains(knob_failure(actuator, "power_limit_w", 125000), "could not be put back"));
  EXPECT_EQ(gpus_.get("limit_mw"), "450000");
  EXPECT_EQ(write(actuator, "gpu_mhz", 900000), Progress::done) << "the others are set";
  EXPECT_NO_THROW(actuator.restore());
}

TEST_F(GpuKnobsTest, AGpuWithoutAUuidCouldNotBeFoundAgainAndHasNoKnobs) {
  for (const char* uuid : {"", "MIG-1", "error 3"}) {
    gpus_.put("uuid", uuid);
    const BoardActuator actuator = make();
    EXPECT_FALSE(actuator.writable()) << uuid;
    for (const char* name : {"power_limit_w", "gpu_mhz", "mem_mhz"}) {
      EXPECT_TRUE(contains(reason(actuator, name), "UUID")) << reason(actuator, name);
    }
  }
}

TEST_F(GpuKnobsTest, AnOldGpuHasNoLocks) {
  gpus_.put("capability", "6 0");
  const BoardActuator pascal = make();
  EXPECT_TRUE(contains(reason(pascal, "gpu_mhz"), "older than Volta"));
  EXPECT_TRUE(contains(reason(pascal, "mem_mhz"), "older than Ampere"));
}

TEST_F(GpuKnobsTest, AGpuWithOneMemoryClockHasNothingToChoose) {
  gpus_.put("memory_clocks", "877");
  const BoardActuator actuator = make();
  EXPECT_EQ(reason(actuator, "mem_mhz"),
            "Fake A100 works at 877 MHz alone: there is nothing to choose");
}

TEST_F(GpuKnobsTest, MigLeavesTheKnobsToNobody) {
  gpus_.put("mig", "1 1");
  const BoardActuator actuator = make();
  EXPECT_FALSE(actuator.writable());
  EXPECT_TRUE(contains(reason(actuator, "power_limit_w"), "MIG"))
      << reason(actuator, "power_limit_w");
}

TEST_F(GpuKnobsTest, SetsOnlyTheGpuThatWasChosen) {
  gpus_.add(1);
  BoardDescription board = fakes::gpu_board();
  ASSERT_TRUE(select_gpu(board, "GPU-10000000-aaaa"));
  BoardActuator actuator(board, root_, {journal()});
  write(actuator, "power_limit_w", 150000);
  EXPECT_EQ(gpus_.get("limit_mw", 1), "150000");
  EXPECT_EQ(gpus_.get("limit_mw", 0), "250000");
}

TEST_F(GpuKnobsTest, WritesAreReadBackAndPutBack) {
  BoardActuator actuator = make();
  EXPECT_EQ(read(actuator, "power_limit_w"), 250000);
  EXPECT_EQ(read(actuator, "gpu_mhz"), std::nullopt) << "a lock cannot be read";
  EXPECT_EQ(write(actuator, "power_limit_w", 125000), Progress::done);
  EXPECT_EQ(write(actuator, "gpu_mhz", 900000), Progress::done);
  EXPECT_EQ(read(actuator, "power_limit_w"), 125000);
  EXPECT_EQ(read(actuator, "gpu_mhz"), 900000);
  EXPECT_EQ(gpus_.get("gpu_lock"), "900 900");
  actuator.restore();
  EXPECT_EQ(gpus_.get("limit_mw"), "250000");
  EXPECT_EQ(gpus_.get("gpu_lock"), "");
  EXPECT_EQ(read(actuator, "gpu_mhz"), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GpuKnobsTest, ALockOfAnotherOnAKnobThatWasNotSetStays) {
  gpus_.put("gpu_lock", "600 600");
  BoardActuator actuator = make();
  write(actuator, "power_limit_w", 125000);
  actuator.restore();
  EXPECT_EQ(gpus_.get("gpu_lock"), "600 600");
}

TEST_F(GpuKnobsTest, ALimitThatIsAnsweredWithSuccessAndNotTakenIsTold) {
  gpus_.put("set_limit", "ignore");
  BoardActuator actuator = make();
  EXPECT_TRUE(contains(knob_failure(actuator, "power_limit_w", 100000),
                       "power_limit_w: wrote 100, still 250"));
}

TEST_F(GpuKnobsTest, ALowerLimitOfTheServerIsNotOurs) {
  gpus_.put("enforced_mw", "200000");
  BoardActuator actuator = make();
  EXPECT_TRUE(contains(knob_failure(actuator, "power_limit_w", 300000), "wrote 300, still 200"));
  EXPECT_EQ(write(actuator, "power_limit_w", 150000), Progress::done);
  gpus_.remove("enforced_mw");
  actuator.restore();
  EXPECT_EQ(gpus_.get("limit_mw"), "250000") << "the one that was set, not the one in force";
}

TEST_F(GpuKnobsTest, ARefusalForWantOfRightsNamesTheWayOutAndLeavesNothingToRestore) {
  gpus_.put("set_limit", "error 4");
  gpus_.put("set_clocks", "error 4");
  BoardActuator actuator = make();
  for (const auto& [name, value] :
       {std::pair("power_limit_w", 100000), std::pair("gpu_mhz", 600000)}) {
    const std::string text = knob_failure(actuator, name, value);
    EXPECT_TRUE(contains(text, "NO_PERMISSION")) << text;
    EXPECT_TRUE(contains(text, "run gearshift as root")) << text;
  }
  EXPECT_NO_THROW(actuator.restore());
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GpuKnobsTest, AClockThatCannotBeLockedStaysAtItsHighest) {
  gpus_.put("gpu_lock_refused", "");
  gpus_.put("memory_lock_refused", "");
  BoardActuator actuator = make();
  for (const auto& [name, low, highest] :
       {std::tuple("gpu_mhz", 600000, 1410000), std::tuple("mem_mhz", 1215000, 1593000)}) {
    EXPECT_TRUE(contains(knob_failure(actuator, name, low), "NOT_SUPPORTED")) << name;
    EXPECT_EQ(write(actuator, name, highest), Progress::done) << name;
  }
  EXPECT_EQ(write(actuator, "power_limit_w", 125000), Progress::done);
  EXPECT_NO_THROW(actuator.restore());
}

TEST_F(GpuKnobsTest, AClockBelowItsLockObeysItWhereThePowerLimitOrIdlenessHoldsIt) {
  BoardActuator actuator = make();
  write(actuator, "gpu_mhz", 1200000);
  EXPECT_EQ(read(actuator, "gpu_mhz"), 1200000);
  gpus_.put("gpu_clock", "840");
  for (const char* reasons : {"1", "4", "error 3"}) {
    gpus_.put("reasons", reasons);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(read(actuator, "gpu_mhz"), 1200000) << reasons;
  }
  gpus_.put("reasons", "32");  // heat
  read(actuator, "gpu_mhz");
  EXPECT_EQ(read(actuator, "gpu_mhz"), 840000);
}

TEST_F(GpuKnobsTest, AClockAboveItsLockHasLostIt) {
  BoardActuator actuator = make();
  write(actuator, "gpu_mhz", 600000);
  EXPECT_EQ(read(actuator, "gpu_mhz"), 600000);
  gpus_.put("gpu_clock", "1410");
  read(actuator, "gpu_mhz");
  EXPECT_EQ(read(actuator, "gpu_mhz"), 1410000);
}

TEST_F(GpuKnobsTest, AKilledDaemonIsPutBackByTheNextOneOrByRestore) {
  for (const bool next_daemon : {true, false}) {
    {
      BoardActuator actuator = make();
      write(actuator, "power_limit_w", 100000);
      write(actuator, "gpu_mhz", 600000);
      write(actuator, "mem_mhz", 1215000);
    }
    EXPECT_EQ(gpus_.get("limit_mw"), "100000");
    if (next_daemon) {
      const BoardActuator next = make();
      EXPECT_FALSE(next.findings().empty());
    } else {
      const RestoreReport report = restore_from_journal(root_, journal());
      EXPECT_EQ(report.restored,
                (std::vector<std::string>{
                    "/nvml/GPU-00000000-aaaa/power_limit: 250000 mW (was 100000 mW)",
                    "/nvml/GPU-00000000-aaaa/gpu_clock: unlocked",
                    "/nvml/GPU-00000000-aaaa/memory_clock: unlocked"}));
    }
    EXPECT_EQ(gpus_.get("limit_mw"), "250000");
    EXPECT_EQ(gpus_.get("gpu_lock"), "");
    EXPECT_EQ(gpus_.get("memory_lock"), "");
    EXPECT_FALSE(std::filesystem::exists(journal()));
  }
}

TEST_F(GpuKnobsTest, ALockThatAnEarlierDaemonLeftStaysInTheJournalUntilItIsUnlocked) {
  {
    BoardActuator killed = make();
    write(killed, "gpu_mhz", 600000);
  }
  gpus_.put("set_clocks", "error 999");
  {
    BoardActuator next = make();
    EXPECT_TRUE(contains(knob_failure(next, "gpu_mhz", 900000), "999"));
    EXPECT_THROW(next.restore(), KnobError);
    EXPECT_TRUE(contains(knob_failure(next, "gpu_mhz", 900000), "999"));
  }
  gpus_.remove("set_clocks");
  EXPECT_EQ(gpus_.get("gpu_lock"), "600 600");
  const RestoreReport report = restore_from_journal(root_, journal());
  ASSERT_FALSE(report.restored.empty());
  EXPECT_EQ(report.restored[0], "/nvml/GPU-00000000-aaaa/gpu_clock: unlocked");
  EXPECT_EQ(gpus_.get("gpu_lock"), "");
  EXPECT_FALSE(std::filesystem::exists(journal()));
}

TEST_F(GpuKnobsTest, ALostGpuIsRefusedToldAndKeptInTheJournal) {
  BoardActuator actuator = make();
  write(actuator, "power_limit_w", 100000);
  gpus_.put("lost", "error 15");
  EXPECT_TRUE(contains(knob_failure(actuator, "power_limit_w", 150000), "GPU_IS_LOST"));
  EXPECT_EQ(read(actuator, "power_limit_w"), std::nullopt);
  EXPECT_THROW(actuator.restore(), KnobError);
  EXPECT_TRUE(std::filesystem::exists(journal()));
  gpus_.remove("lost");
  EXPECT_NO_THROW(actuator.restore());
  EXPECT_EQ(gpus_.get("limit_mw"), "250000");
}

TEST_F(GpuKnobsTest, AnEntryThatIsNoLimitIsNotWritten) {
  for (const char* text : {"", "250 W", "-1", "99999999999999999999"}) {
    RestoreReport report;
    const SavedEntry entry{SavedRole::gpu_power_limit, gpu_path("GPU-00000000-aaaa", "power_limit"),
                           text};
    EXPECT_EQ(restore_gpus(root_, {entry}, report).size(), 1u) << text;
    EXPECT_EQ(gpus_.get("limit_mw"), "250000");
  }
}

}  // namespace
}  // namespace gearshift
