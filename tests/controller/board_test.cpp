#include "controller/board.h"

#include <gtest/gtest.h>

#include "tests/fakes/bent_board.h"
#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Writes = std::vector<std::pair<std::string, std::int64_t>>;

constexpr Duration kTimeout = std::chrono::seconds(3);  // that of fake_traits()

using fakes::five_knobs;
using fakes::mode_of;
using BoardTest = fakes::BentBoardTest;

TEST_F(BoardTest, IsIdleUntilItIsAskedForSomething) {
  EXPECT_EQ(board_.state(), ApplyState::idle);
  EXPECT_EQ(board_.advance(at({})), ApplyState::idle);
  EXPECT_FALSE(board_.outside_write());
  EXPECT_TRUE(hardware_.writes.empty());
}

TEST_F(BoardTest, ReducesClocksThenPowerLimitThenMemoryThenCores) {
  board_.begin(mode_of({1, 100000, 10000, 100000, 100000}), at({}));
  EXPECT_EQ(finish(), 1);
  EXPECT_EQ(board_.state(), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"cpu_mhz", 100000},
                                      {"gpu_mhz", 100000},
                                      {"power_limit_w", 10000},
                                      {"mem_mhz", 100000},
                                      {"cpu_cores", 1}}));
}

TEST_F(BoardTest, RaisesInTheOppositeOrder) {
  board_.begin(mode_of({3, 300000, 30000, 300000, 300000}), at({}));
  EXPECT_EQ(finish(), 1);
  EXPECT_EQ(board_.state(), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"cpu_cores", 3},
                                      {"mem_mhz", 300000},
                                      {"power_limit_w", 30000},
                                      {"cpu_mhz", 300000},
                                      {"gpu_mhz", 300000}}));
}

TEST_F(BoardTest, RaisesOnlyAfterEverythingThatReduces) {
  board_.begin(mode_of({1, 300000, 30000, 100000, 100000}), at({}));
  finish();
  EXPECT_EQ(hardware_.writes, (Writes{{"gpu_mhz", 100000},
                                      {"mem_mhz", 100000},
                                      {"cpu_cores", 1},
                                      {"power_limit_w", 30000},
                                      {"cpu_mhz", 300000}}));
}

TEST_F(BoardTest, SaysWhenItMovedTheKnobs) {
  board_.begin(mode_of({2, 100000, 20000, 200000, 100000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(board_.moved(), at({})) << "nobody looked at the clock";
  hardware_.frozen_at = at(milliseconds(5));
  hardware_.writes_take = milliseconds(10);
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(board_.moved(), at(milliseconds(25))) << "writes at 15, 25 and 35 ms";
  // One core a call, each with a time of its own.
  board_.begin(mode_of({4, 200000, 20000, 100000, 200000}), at(milliseconds(100)));
  EXPECT_EQ(board_.advance(at(milliseconds(100))), ApplyState::applying);
  EXPECT_EQ(board_.moved(), at(milliseconds(45)));
  EXPECT_EQ(board_.advance(at(milliseconds(200))), ApplyState::applied);
  EXPECT_EQ(board_.moved(), at(milliseconds(55)));
  EXPECT_TRUE(board_.moves());
  board_.begin(mode_of({4, 200000, 20000, 100000, 200000}), at(milliseconds(300)));
  EXPECT_EQ(board_.advance(at(milliseconds(300))), ApplyState::applied);
  EXPECT_EQ(board_.moved(), at(milliseconds(300))) << "there was nothing to write";
  EXPECT_FALSE(board_.moves());
}

TEST_F(BoardTest, WritesOnlyWhatDiffers) {
  board_.begin(mode_of({2, 200000, 20000, 200000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_TRUE(hardware_.writes.empty());
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"gpu_mhz", 100000}}));
}

// The guard runs between two cores; the clocks go down before the first of them.
TEST_F(BoardTest, MovesOneCoreAnAdvanceAfterTheClocks) {
  hardware_.values[0] = 4;
  board_.begin(mode_of({1, 100000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applying);
  EXPECT_EQ(hardware_.writes, (Writes{{"cpu_mhz", 100000}, {"gpu_mhz", 100000}, {"cpu_cores", 3}}));
  EXPECT_EQ(board_.advance(at(milliseconds(100))), ApplyState::applying);
  EXPECT_EQ(hardware_.writes.size(), 4U);
  EXPECT_EQ(board_.advance(at(milliseconds(200))), ApplyState::applied);
  EXPECT_EQ(hardware_.writes.size(), 5U);
  EXPECT_EQ(hardware_.values[0], 1);
}

TEST_F(BoardTest, ReplacesAnUnfinishedChange) {
  hardware_.values[0] = 4;
  board_.begin(mode_of({1, 200000, 20000, 200000, 200000}), at({}));
  board_.advance(at({}));
  ASSERT_EQ(hardware_.values[0], 3);
  hardware_.writes.clear();
  board_.begin(mode_of({4, 100000, 20000, 200000, 200000}), at(milliseconds(500)));
  EXPECT_EQ(board_.began(), at(milliseconds(500)));
  EXPECT_EQ(board_.advance(at(milliseconds(500))), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"cpu_mhz", 100000}, {"cpu_cores", 4}}));
}

TEST_F(BoardTest, WritesAKnobThatCannotBeReadWithTheReducingOnes) {
  actuator_->unreadable = "mem_mhz";
  board_.begin(mode_of({2, 300000, 20000, 200000, 300000}), at({}));
  finish();
  ASSERT_GE(hardware_.writes.size(), 2U);
  EXPECT_EQ(hardware_.writes[0], (Writes::value_type{"mem_mhz", 300000}));
  EXPECT_EQ(hardware_.writes[1], (Writes::value_type{"cpu_mhz", 300000}));
  EXPECT_EQ(board_.state(), ApplyState::not_applied) << "nobody can say that it is in force";
  EXPECT_EQ(board_.failure(), "mem_mhz: wrote 300, still unreadable");
  EXPECT_FALSE(board_.outside_write());
}

// It may be a reduction, which a core that takes its time would put off.
TEST_F(BoardTest, WritesAKnobThatCannotBeReadBeforeAnythingThatRaises) {
  actuator_->unreadable = "gpu_mhz";
  board_.begin(mode_of({3, 200000, 20000, 100000, 300000}), at({}));
  board_.advance(at({}));
  ASSERT_GE(hardware_.writes.size(), 3U);
  hardware_.writes.resize(3);
  EXPECT_EQ(hardware_.writes, (Writes{{"gpu_mhz", 100000}, {"cpu_cores", 3}, {"mem_mhz", 300000}}));
}

TEST_F(BoardTest, WritesTheOthersWhenOneKnobIsRefused) {
  actuator_->refuse = {"cpu_mhz"};
  board_.begin(mode_of({1, 100000, 10000, 100000, 100000}), at({}));
  finish();
  EXPECT_EQ(board_.state(), ApplyState::refused);
  EXPECT_EQ(board_.failure(), "cpu_mhz: refused");
  EXPECT_EQ(hardware_.values, (std::vector<std::int64_t>{1, 200000, 10000, 100000, 100000}));
}

// A refused clock is the very case in which the cores must still go.
TEST_F(BoardTest, TakesAllCoresDownWhenAClockIsRefused) {
  hardware_.values[0] = 4;
  actuator_->refuse = {"gpu_mhz"};
  board_.begin(mode_of({1, 100000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applying) << "two cores are left to go";
  finish();
  EXPECT_EQ(board_.state(), ApplyState::refused);
  EXPECT_EQ(hardware_.values[0], 1);
  EXPECT_EQ(board_.failure(), "gpu_mhz: refused");
  EXPECT_FALSE(board_.outside_write());
}

TEST_F(BoardTest, NamesEveryRefusedKnob) {
  actuator_->refuse = {"cpu_mhz", "mem_mhz"};
  board_.begin(mode_of({2, 100000, 20000, 100000, 100000}), at({}));
  finish();
  EXPECT_EQ(board_.state(), ApplyState::refused);
  EXPECT_EQ(board_.failure(), "cpu_mhz: refused; mem_mhz: refused");
}

TEST_F(BoardTest, WaitsForABoardThatFollowsLate) {
  hardware_.ignore = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(board_.advance(at({})), ApplyState::applying);
  hardware_.values[3] = 100000;  // at the last call that counts
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
}

TEST_F(BoardTest, SaysWhichKnobIgnoredTheWrite) {
  hardware_.ignore = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applying) << "it is written once more";
  EXPECT_EQ(board_.failure(), "");
  EXPECT_EQ(board_.advance(at(milliseconds(400))), ApplyState::applying)
      << "and has two more calls";
  EXPECT_EQ(board_.advance(at(milliseconds(500))), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(milliseconds(600))), ApplyState::not_applied);
  EXPECT_EQ(board_.failure(), "gpu_mhz: wrote 100, still 200");
  EXPECT_EQ(hardware_.writes, (Writes{{"gpu_mhz", 100000}, {"gpu_mhz", 100000}}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::not_applied) << "and not a third time";
  EXPECT_EQ(hardware_.writes.size(), 2U);
  EXPECT_FALSE(board_.outside_write()) << "what is ignored is nobody else's doing";
}

TEST_F(BoardTest, CallsInQuickSuccessionLeaveAKnobItsTimeToFollow) {
  hardware_.ignore = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  for (int ms = 0; ms < 500; ++ms)
    ASSERT_EQ(board_.advance(at(milliseconds(ms))), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(milliseconds(500))), ApplyState::not_applied);
}

TEST_F(BoardTest, AKnobThatFollowsAtLastIsNobodysWrite) {
  hardware_.ignore = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  for (int i = 0; i < 6; ++i) board_.advance(at(milliseconds(100) * i));
  ASSERT_EQ(board_.state(), ApplyState::not_applied);
  hardware_.values[3] = 100000;
  EXPECT_FALSE(board_.outside_write());
  hardware_.values[3] = 300000;
  EXPECT_TRUE(board_.outside_write());
}

TEST_F(BoardTest, ForgetsAFailureWithTheNextChange) {
  hardware_.ignore = "gpu_mhz";
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  finish();
  ASSERT_EQ(board_.state(), ApplyState::not_applied);
  hardware_.ignore.clear();
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.state(), ApplyState::applying);
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(board_.failure(), "");
}

TEST_F(BoardTest, ForgetsARefusalWithTheNextChange) {
  actuator_->refuse = {"gpu_mhz"};
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  finish();
  ASSERT_EQ(board_.state(), ApplyState::refused);
  actuator_->refuse.clear();
  board_.begin(mode_of({2, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(board_.failure(), "");
}

// A core that comes online brings the highest clock with it.
TEST_F(BoardTest, WritesClocksOnceMoreThatCoresBroughtBack) {
  actuator_->after_write = [this](const std::string& name) {
    if (name == "cpu_cores") hardware_.values[1] = 300000;
  };
  board_.begin(mode_of({3, 100000, 20000, 200000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applying);
  EXPECT_EQ(board_.advance(at({})), ApplyState::applied);
  EXPECT_EQ(hardware_.writes, (Writes{{"cpu_mhz", 100000}, {"cpu_cores", 3}, {"cpu_mhz", 100000}}));
  EXPECT_EQ(hardware_.values[1], 100000);
}

TEST_F(BoardTest, GivesHotplugItsTimeAndNotOneNanosecondMore) {
  actuator_->never_done = true;
  board_.begin(mode_of({1, 200000, 20000, 200000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at({})), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(kTimeout)), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(kTimeout + nanoseconds(1))), ApplyState::timed_out);
  EXPECT_EQ(board_.failure(), "cpu_cores: not applied within 3000 ms");
  const std::size_t writes = hardware_.writes.size();
  EXPECT_EQ(board_.advance(at(kTimeout * 2)), ApplyState::timed_out);
  EXPECT_EQ(hardware_.writes.size(), writes) << "an ended change writes nothing more";
}

TEST_F(BoardTest, CallsAChangeRefusedThatWasRefusedAndTimedOut) {
  actuator_->refuse = {"gpu_mhz"};
  actuator_->never_done = true;
  board_.begin(mode_of({1, 200000, 20000, 100000, 200000}), at({}));
  EXPECT_EQ(board_.advance(at(kTimeout)), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(kTimeout + nanoseconds(1))), ApplyState::refused);
  EXPECT_EQ(board_.failure(), "gpu_mhz: refused");
}

TEST_F(BoardTest, CountsTheTimeoutFromTheNewestChange) {
  actuator_->never_done = true;
  board_.begin(mode_of({1, 200000, 20000, 200000, 200000}), at({}));
  board_.begin(mode_of({1, 200000, 20000, 200000, 200000}), at(kTimeout));
  EXPECT_EQ(board_.advance(at(kTimeout * 2)), ApplyState::applying);
  EXPECT_EQ(board_.advance(at(kTimeout * 2 + nanoseconds(1))), ApplyState::timed_out);
}

TEST(Board, HoldsTheModeItIsGivenSafeElseTheLowest) {
  fakes::Hardware hardware;
  EXPECT_EQ(fakes::fake_board(hardware).safe(), fakes::mode(1, 300000));
  BoardTraits traits = fakes::fake_traits();
  traits.safe = fakes::mode(2, 300000);
  const Board board(std::make_unique<fakes::FakeActuator>(hardware), {}, traits);
  EXPECT_EQ(board.safe(), fakes::mode(2, 300000));
}

TEST(Board, ReadsEverySensorAndExplainsWhatIsMissing) {
  fakes::Hardware hardware;
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<fakes::FakeSensor>(hardware));
  sensors.push_back(std::make_unique<fakes::FakeSensor>(hardware));
  Board board(std::make_unique<fakes::FakeActuator>(hardware), std::move(sensors),
              fakes::fake_traits());
  std::vector<Reading> readings(1);
  board.read(at({}), readings);
  ASSERT_EQ(readings.size(), 3U) << "it appends";
  EXPECT_EQ(readings[2].taken, at({}));
  EXPECT_EQ(board.explain(readings[2]), "");
  hardware.reading_state = ReadingState::missing;
  board.read(at({}), readings);
  EXPECT_EQ(board.explain(readings.back()), "fake sensor says so");
}

TEST(Board, PassesProcessesAndRestoreToItsActuator) {
  fakes::Hardware hardware;
  Board board = fakes::fake_board(hardware);
  board.manage(4242, Kind::train);
  board.restore();
  EXPECT_EQ(hardware.managed_pids, std::vector<std::int32_t>{4242});
  EXPECT_EQ(hardware.restores, 1);
}

TEST(Board, OfNoKnobsAppliesItsOneModeAtOnce) {
  fakes::Hardware hardware;
  hardware.space.knobs.clear();
  hardware.values.clear();
  Board board(std::make_unique<fakes::FakeActuator>(hardware), {}, fakes::fake_traits());
  board.begin(board.safe(), at({}));
  EXPECT_EQ(board.advance(at({})), ApplyState::applied);
  EXPECT_FALSE(board.outside_write());
}

}  // namespace
}  // namespace gearshift
