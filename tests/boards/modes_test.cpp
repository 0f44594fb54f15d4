#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "boards/board_description.h"

namespace gearshift {
namespace {

const BoardDescription& built_in(std::string_view id) {
  for (const BoardDescription& board : built_in_boards()) {
    if (board.id == id) return board;
  }
  throw std::runtime_error("no board " + std::string(id));
}

Knob knob(std::string name, Unit unit, std::vector<std::int64_t> values) {
  return {.name = std::move(name), .unit = unit, .values = std::move(values)};
}

BoardDescription without_model(std::vector<Knob> knobs) {
  BoardDescription board;
  board.id = "bench";
  for (Knob& entry : knobs) board.knobs.emplace_back().knob = std::move(entry);
  return board;
}

std::vector<std::vector<std::int64_t>> values_of(const std::vector<PowerMode>& modes) {
  std::vector<std::vector<std::int64_t>> values;
  for (const PowerMode& mode : modes) {
    values.emplace_back(mode.values.begin(), mode.values.begin() + mode.count);
  }
  return values;
}

TEST(Modes, AgxOrinHasThemAllOnceInOrderOfModelPowerAtFullLoad) {
  const BoardDescription& board = built_in("jetson-agx-orin");
  const KnobSpace space = board.knob_space();
  const std::vector<PowerMode> modes = modes_by_power(board, space);
  ASSERT_EQ(modes.size(), 12u * 29 * 11 * 4);
  const Demand load = board.workloads.at("resnet18").demand(16);
  std::set<std::array<std::int64_t, kMaxKnobs>> seen;
  double last = 0;
  for (const PowerMode& mode : modes) {
    ASSERT_TRUE(space.contains(mode));
    ASSERT_TRUE(seen.insert(mode.values).second) << "twice: " << space.describe(mode);
    const double power = minibatch_cost(*board.model, load, model_mode(space, mode, {})).power_w;
    ASSERT_GE(power, last);
    last = power;
  }
  EXPECT_EQ(modes.back(), space.highest());
}

TEST(Modes, TooManyAreToldWithoutTheNameThatNobodyGave) {
  std::vector<std::int64_t> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i + 1);
  BoardDescription board =
      without_model({knob("a", Unit::khz, values), knob("b", Unit::khz, values)});
  const auto told = [&] {
    try {
      modes_by_power(board, board.knob_space());
    } catch (const std::length_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(told().find("bench: the knobs have more than 262144 modes together"), 0u) << told();
  board.id.clear();
  EXPECT_EQ(told().find("the knobs have more than"), 0u) << told();
}

TEST(Modes, JetPack5HasThirteenGpuSteps) {
  const BoardDescription& board = built_in("jetson-agx-orin-jetpack5");
  EXPECT_EQ(modes_by_power(board, board.knob_space()).size(), 12u * 29 * 13 * 4);
}

TEST(Modes, AreTheSameEveryTime) {
  const BoardDescription& board = built_in("jetson-agx-orin");
  EXPECT_EQ(modes_by_power(board, board.knob_space()), modes_by_power(board, board.knob_space()));
}

TEST(Modes, WithoutAModelTheProductOfRelativePositionsOrdersThemAndTiesGoByValue) {
  const BoardDescription board =
      without_model({knob("cpu_cores", Unit::count, {1, 4}),
                     knob("cpu_quota_percent", Unit::percent, {50, 100})});
  EXPECT_EQ(values_of(modes_by_power(board, board.knob_space())),
            (std::vector<std::vector<std::int64_t>>{{1, 50}, {1, 100}, {4, 50}, {4, 100}}));
  const BoardDescription lopsided = without_model(
      {knob("cpu_cores", Unit::count, {1, 2}), knob("cpu_mhz", Unit::khz, {100, 200, 300, 400})});
  // 2 of 2 cores at 1 of 4 clocks equals 1 of 2 at 2 of 4, which has the lower first value.
  EXPECT_EQ(values_of(modes_by_power(lopsided, lopsided.knob_space())),
            (std::vector<std::vector<std::int64_t>>{
                {1, 100}, {1, 200}, {2, 100}, {1, 300}, {1, 400}, {2, 200}, {2, 300}, {2, 400}}));
}

// A GPU at a limit and at a high clock draws the limit: no more than at a lower clock that reaches
// it too, and far more than at a high limit and a clock that does not.
TEST(Modes, WithoutAModelAPowerLimitCapsWhatTheOtherKnobsLetABoardDraw) {
  const auto limit = [](std::vector<std::int64_t> values) {
    return Knob{"power_limit_w", Unit::mw, KnobClass::power_limit, std::move(values)};
  };
  const BoardDescription gpu =
      without_model({limit({100, 200, 300}), knob("gpu_mhz", Unit::khz, {300, 900, 1410})});
  EXPECT_EQ(values_of(modes_by_power(gpu, gpu.knob_space())),
            (std::vector<std::vector<std::int64_t>>{{100, 300},
                                                    {100, 900},
                                                    {100, 1410},
                                                    {200, 300},
                                                    {300, 300},
                                                    {200, 900},
                                                    {200, 1410},
                                                    {300, 900},
                                                    {300, 1410}}));

  // Memory at a seventh of its clock is taken to leave more than half of what is drawn.
  BoardDescription memory =
      without_model({limit({180, 300}), knob("mem_mhz", Unit::khz, {5, 8, 60})});
  memory.knobs[1].knob.knob_class = KnobClass::memory;
  EXPECT_EQ(values_of(modes_by_power(memory, memory.knob_space())),
            (std::vector<std::vector<std::int64_t>>{
                {180, 5}, {300, 5}, {180, 8}, {300, 8}, {180, 60}, {300, 60}}));

  // Of one knob the order is that of its values.
  const BoardDescription alone = without_model({limit({100, 200, 300})});
  EXPECT_EQ(values_of(modes_by_power(alone, alone.knob_space())),
            (std::vector<std::vector<std::int64_t>>{{100}, {200}, {300}}));
}

TEST(Modes, AKnobThatIsAbsentCountsAsAtItsHighest) {
  const BoardDescription& board = built_in("jetson-agx-orin");
  KnobSpace space = board.knob_space();
  space.knobs.pop_back();  // mem_mhz, as where debugfs is closed
  const std::vector<PowerMode> modes = modes_by_power(board, space);
  ASSERT_EQ(modes.size(), 12u * 29 * 11);
  const Demand load = board.workloads.at(board.reference_workload).demand(16);
  double last = 0;
  for (const PowerMode& mode : modes) {
    ASSERT_EQ(mode.count, 3);
    const ModelMode clocks = model_mode(space, mode, {.mem_ghz = 3.199});
    ASSERT_EQ(clocks.mem_ghz, 3.199);
    const double power = minibatch_cost(*board.model, load, clocks).power_w;
    ASSERT_GE(power, last);
    last = power;
  }
}

TEST(Modes, TheSafeOneIsTheFirstThatKeepsEveryKnobAtItsFloor) {
  for (const BoardDescription& board : built_in_boards()) {
    if (!board.model) continue;
    const KnobSpace space = board.knob_space();
    const PowerMode safe = safe_mode(board, space, modes_by_power(board, space));
    EXPECT_EQ(safe.values[0], 2) << board.id;
    EXPECT_EQ(safe.values[1], board.knobs[1].safe_at_least) << "at the floor, not past it";
    EXPECT_EQ(safe.values[2], space.knobs[2].values.front());
    EXPECT_EQ(safe.values[3], space.knobs[3].values.front());
  }
}

TEST(Modes, WhereNoneKeepsTheFloorsTheLastIsSafe) {
  BoardDescription board = without_model({});
  KnobDescription description;
  description.knob = knob("a", Unit::count, {1, 2});
  description.safe_at_least = 3;
  board.knobs.push_back(description);
  const KnobSpace space{{description.knob}};
  EXPECT_EQ(safe_mode(board, space, modes_by_power(board, space)).values[0], 2);
}

TEST(Modes, OfNoKnobAtAllThereIsOne) {
  EXPECT_EQ(modes_by_power(without_model({}), {}).size(), 1u);
}

TEST(Modes, AreCountedUpToTheirLimit) {
  std::vector<std::int64_t> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i) + 1;
  KnobSpace space{{knob("a", Unit::count, values), knob("b", Unit::count, values)}};
  EXPECT_EQ(bounded_mode_count(space), kMaxModes) << "at the limit";
  EXPECT_EQ(modes_by_power(without_model({}), space).size(), kMaxModes);
  space.knobs[0].values.push_back(513);
  EXPECT_EQ(bounded_mode_count(space), kMaxModes + 1) << "past it";
  EXPECT_THROW(modes_by_power(without_model({}), space), std::length_error);
  space.knobs.resize(kMaxKnobs, knob("c", Unit::count, values));  // 2^72 modes
  EXPECT_EQ(bounded_mode_count(space), kMaxModes + 1);
}

TEST(Modes, ModelClocksComeByNameInWhateverOrderTheKnobsAre) {
  const KnobSpace space{{knob("mem_mhz", Unit::khz, {2'133'000}),
                         knob("cpu_cores", Unit::count, {8}),
                         knob("gpu_mhz", Unit::khz, {1'300'500})}};
  const ModelMode mode = model_mode(space, space.lowest(), {.cpu_ghz = 2.2016});
  EXPECT_DOUBLE_EQ(mode.mem_ghz, 2.133);
  EXPECT_DOUBLE_EQ(mode.gpu_ghz, 1.3005);
  EXPECT_EQ(mode.cpu_cores, 8);
  EXPECT_EQ(mode.cpu_ghz, 2.2016);
}

}  // namespace
}  // namespace gearshift
