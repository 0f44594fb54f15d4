// Which settings a board hardly takes, and the searches that ask on boards with knobs that are
// stuck.
#include "policies/numerics/applied_odds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

constexpr const char* kBoard = "jetson-agx-orin";

using Position = SettingGrid::Position;

// Cores, CPU, GPU and memory clocks, by the numbers of their values: the highest is 2, 3, 3, 2.
struct Stuck {
  OrinProblem problem;
  SettingGrid grid{problem.context(), ModelMode{1, 1, 1, 1}};
  AppliedOdds odds{grid, problem.knobs.lowest()};

  std::size_t at(Position position) const { return grid.number(position); }
  std::vector<std::uint8_t> excluded() const {
    std::vector<std::uint8_t> all(grid.size());
    odds.exclude(all);
    return all;
  }
  std::size_t count() const {
    const std::vector<std::uint8_t> all = excluded();
    return std::accumulate(all.begin(), all.end(), std::size_t{0});
  }
};

TEST(AppliedOdds, LeaveNothingOutWhereNothingFailed) {
  Stuck board;
  EXPECT_EQ(board.count(), 0u);
  board.odds.applied(board.at({2, 3, 3, 2}));
  EXPECT_EQ(board.count(), 0u);
}

TEST(AppliedOdds, AskForAnotherSettingThanTheNeighbourOfOneThatFailed) {
  Stuck board;
  board.odds.failed(board.at({2, 3, 3, 2}));
  board.odds.failed(board.at({2, 3, 2, 2}));
  const std::vector<std::uint8_t> excluded = board.excluded();
  EXPECT_TRUE(excluded[board.at({2, 3, 3, 2})]);
  EXPECT_TRUE(excluded[board.at({2, 3, 1, 2})]);
  EXPECT_FALSE(excluded[board.at({1, 1, 1, 1})]);
  EXPECT_FALSE(excluded[board.at({0, 0, 0, 0})]);
}

TEST(AppliedOdds, LeaveOutOneValueWhereAllOthersWereInForce) {
  Stuck board;
  board.odds.failed(board.at({2, 3, 3, 2}));
  board.odds.failed(board.at({2, 3, 2, 2}));
  board.odds.failed(board.at({1, 3, 3, 2}));
  board.odds.applied(board.at({2, 3, 3, 1}));
  const std::vector<std::uint8_t> excluded = board.excluded();
  for (std::size_t i = 0; i < board.grid.size(); ++i) {
    EXPECT_EQ(excluded[i] != 0, board.grid.position(i)[3] == 2) << i;
  }
}

TEST(AppliedOdds, FindTwoKnobsThatAreStuck) {
  Stuck board;
  for (const Position& failed : {Position{2, 3, 3, 2}, Position{2, 3, 1, 2}, Position{2, 3, 1, 1},
                                 Position{2, 3, 3, 0}, Position{2, 3, 2, 0}}) {
    board.odds.failed(board.at(failed));
  }
  board.odds.applied(board.at({2, 3, 1, 0}));  // the GPU not above 1, memory not above 0
  const std::vector<std::uint8_t> excluded = board.excluded();
  EXPECT_TRUE(excluded[board.at({2, 3, 3, 1})]);
  EXPECT_TRUE(excluded[board.at({2, 2, 2, 2})]);
  EXPECT_FALSE(excluded[board.at({2, 3, 0, 0})]);
  EXPECT_FALSE(excluded[board.at({0, 3, 1, 0})]);
}

TEST(AppliedOdds, LeaveNothingElseOutWhereASettingFailedByItself) {
  Stuck board;
  board.odds.applied(board.at({2, 3, 0, 0}));
  board.odds.applied(board.at({0, 0, 3, 2}));
  for (std::uint16_t i = 0; i < 3; ++i) board.odds.failed(board.at({i, i, i, i}));
  const std::vector<std::uint8_t> excluded = board.excluded();
  EXPECT_FALSE(excluded[board.at({2, 3, 3, 2})]);
  EXPECT_FALSE(excluded[board.at({0, 3, 0, 2})]);
}

// The whole board by its model, where what `stuck` says is not applied.
struct StuckOrin {
  explicit StuckOrin(std::function<bool(const PowerMode&)> is_stuck) : stuck(std::move(is_stuck)) {
    for (const BoardDescription& one : built_in_boards()) {
      if (one.id == kBoard) board = &one;
    }
    problem.knobs = board->knob_space();
    problem.modes = modes_by_power(*board, problem.knobs);
    problem.trainer.batch_size_count = 0;
  }
  TrueCost cost(const PowerMode& mode) const {
    if (stuck(mode)) return {};
    const MinibatchCost one =
        minibatch_cost(*board->model, board->workloads.at("resnet18").demand(16),
                       model_mode(problem.knobs, mode, {}));
    return {one.minibatch_ms, one.power_w};
  }
  // Of those that are applied, within the cap.
  double least_ms(std::int64_t cap_mw) const {
    double least = INFINITY;
    for (const PowerMode& mode : problem.modes) {
      const TrueCost one = cost(mode);
      if (one.minibatch_ms > 0 && one.power_w * 1e3 <= static_cast<double>(cap_mw)) {
        least = std::min(least, one.minibatch_ms);
      }
    }
    return least;
  }
  ProfileWorld world() const {
    return {problem, [this](const Setting& setting) { return cost(setting.mode); }};
  }

  std::function<bool(const PowerMode&)> stuck;
  const BoardDescription* board = nullptr;
  PolicyProblem problem;
};

// Knobs in the order of the board: cores, CPU, GPU and memory clock.
std::vector<StuckOrin> stuck_boards() {
  return {StuckOrin([](const PowerMode& mode) { return mode.values[3] > 665'600; }),
          StuckOrin([](const PowerMode& mode) { return mode.values[2] > 408'000; }),
          StuckOrin([](const PowerMode& mode) {
            return mode.values[2] > 612'000 || mode.values[3] > 2'133'000;
          })};
}

TEST(StuckKnobs, BayesHoldsWhatIsGoodAmongWhatTheBoardTakes) {
  for (const StuckOrin& orin : stuck_boards()) {
    for (const std::int64_t cap_mw : {15'000, 25'000, 40'000}) {
      ProfileWorld world = orin.world();
      LuaPolicy policy("bayes.lua", script_text("bayes.lua"), built_in_board_model(kBoard));
      const SearchOutcome outcome = world.run(policy, cap_mw);
      ASSERT_TRUE(outcome.held) << outcome.failure << cap_mw;
      const TrueCost held = orin.cost(outcome.setting.mode);
      EXPECT_LE(held.minibatch_ms, 2 * orin.least_ms(cap_mw)) << cap_mw;
    }
  }
}

TEST(StuckKnobs, ThompsonComesToWhatIsGoodAmongWhatTheBoardTakes) {
  for (const StuckOrin& orin : stuck_boards()) {
    constexpr std::int64_t kCapMw = 25'000;
    ProfileWorld world = orin.world();
    world.problem().goal.power_mw = kCapMw;
    LuaPolicy policy("thompson.lua", script_text("thompson.lua"), built_in_board_model(kBoard));
    Request request = policy.start(world.problem().context());
    double least_ms = INFINITY;
    for (int i = 0; i < 60 && request.what == Request::What::remeasure; ++i) {
      Observation answer = world.truth(request.setting);
      if (answer.ok() && !answer.within(kCapMw)) {
        answer = cut_short(request.setting, Outcome::over_limit);
      }
      answer.limit_mw = kCapMw;
      if (answer.ok()) least_ms = std::min(least_ms, orin.cost(request.setting.mode).minibatch_ms);
      request = policy.resume(answer);
    }
    EXPECT_EQ(request.what, Request::What::remeasure) << policy.failure();
    EXPECT_LE(least_ms, 2 * orin.least_ms(kCapMw));
  }
}

}  // namespace
}  // namespace gearshift
