// The shipped searches on a whole board by its model: every mode, and four batch sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "boards/board_model.h"
#include "boards/cost_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/measured_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

// The board as its data file describes it, with a trainer that offers four batch sizes.
class ModelledBoard {
 public:
  explicit ModelledBoard(std::string_view workload) {
    for (const BoardDescription& board : built_in_boards()) {
      if (board.id == "jetson-agx-orin") board_ = &board;
    }
    space_ = board_->knob_space();
    workload_ = board_->workloads.at(std::string(workload));
  }

  TrueCost cell(const PowerMode& mode, std::int32_t batch_size) const {
    const MinibatchCost cost =
        minibatch_cost(*board_->model, workload_.demand(batch_size), model_mode(space_, mode, {}));
    return {cost.minibatch_ms, cost.power_w};
  }
  ProfileWorld world() const {
    PolicyProblem problem;
    problem.knobs = space_;
    problem.modes.clear();
    return {problem, [this](const Setting& setting) {
              return cell(setting.mode, setting.batch_size[index(Kind::train)]);
            }};
  }
  // The least cost of a sample over every setting within the cap.
  double optimum(std::int64_t cap_mw, Objective objective,
                 const std::vector<std::int32_t>& batch_sizes = {8, 16, 32, 64}) const {
    double least = INFINITY;
    for (const PowerMode& mode : modes_by_power(*board_, space_)) {
      for (const std::int32_t batch_size : batch_sizes) {
        const TrueCost one = cell(mode, batch_size);
        if (one.power_w * 1e3 <= static_cast<double>(cap_mw)) {
          least = std::min(least, sample_cost(one, batch_size, objective));
        }
      }
    }
    return least;
  }
  static double sample_cost(const TrueCost& cell, std::int32_t batch_size, Objective objective) {
    const double sample_ms = cell.minibatch_ms / batch_size;
    return objective == Objective::time ? sample_ms : sample_ms * cell.power_w;
  }

 private:
  const BoardDescription* board_ = nullptr;
  KnobSpace space_;
  WorkloadParameters workload_;
};

class ModelledSearch : public testing::TestWithParam<std::string> {};

// Excess over the optimum of one search, in percent.
double excess_percent(const std::string& script, const ModelledBoard& board, ProfileWorld& world,
                      std::int64_t cap_mw, Objective objective, int& measurements) {
  world.problem().goal.objective = objective;
  LuaPolicy policy(script, script_text(script));
  const SearchOutcome outcome = world.run(policy, cap_mw);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  measurements = outcome.measurements;
  const std::int32_t batch_size = outcome.setting.batch_size[index(Kind::train)];
  const double chosen = ModelledBoard::sample_cost(board.cell(outcome.setting.mode, batch_size),
                                                   batch_size, objective);
  return 100 * (chosen / board.optimum(cap_mw, objective) - 1);
}

TEST_P(ModelledSearch, FindsGoodSettingsAmongAllOfABoardAndItsBatchSizes) {
  const ModelledBoard board("resnet18");
  for (const Objective objective : {Objective::time, Objective::energy}) {
    for (const std::int64_t cap_mw : {30'000, 20'000}) {
      ProfileWorld world = board.world();
      int measurements = 0;
      const double excess =
          excess_percent(GetParam(), board, world, cap_mw, objective, measurements);
      std::cout << GetParam() << ", least " << objective_name(objective) << " at " << cap_mw / 1000
                << " W: " << excess << " % above the optimum after " << measurements
                << " measurements\n";
      EXPECT_LE(excess, 15);
      EXPECT_LE(measurements, 25);
    }
  }
}

TEST_P(ModelledSearch, StartsFromWhatIsKnownWhenTheCapChanges) {
  const ModelledBoard board("resnet18");
  ProfileWorld world = board.world();
  int first = 0;
  int second = 0;
  excess_percent(GetParam(), board, world, 30'000, Objective::time, first);
  const double excess = excess_percent(GetParam(), board, world, 20'000, Objective::time, second);
  std::cout << GetParam() << ", 20 W after 30 W: " << excess << " % above the optimum after "
            << second << " more measurements\n";
  EXPECT_LE(excess, 15);
  EXPECT_LE(second, first);
}

// Without noise nothing tells power from the cap by itself: each cut must still make the next
// prediction stay further below it, or all of them are over it.
TEST(ModelledRoofline, DoesNotAskForOneSettingOverTheCapAfterTheOther) {
  const ModelledBoard board("resnet18");
  for (const std::int64_t cap_mw : {20'000, 25'000, 30'000}) {
    ProfileWorld world = board.world();
    world.problem().trainer.batch_size_count = 0;
    LuaPolicy policy("roofline.lua", script_text("roofline.lua"),
                     built_in_board_model("jetson-agx-orin"));
    const SearchOutcome outcome = world.run(policy, cap_mw);
    ASSERT_TRUE(outcome.held) << outcome.failure;
    EXPECT_LE(outcome.over_limit, 4) << cap_mw;
    const double chosen =
        ModelledBoard::sample_cost(board.cell(outcome.setting.mode, 16), 16, Objective::time);
    EXPECT_LT(chosen / board.optimum(cap_mw, Objective::time, {16}), 1.05) << cap_mw;
  }
}

// Most training, with no inference beside it: of all the modes of a board, each question to the
// model costs a third of what a script may think.
TEST(ModelledBayes, StartsOverWithinItsInstructionsWhereTrainingAloneIsTheGoal) {
  const ModelledBoard board("resnet18");
  ProfileWorld world = board.world();
  world.problem().goal.objective = Objective::throughput;
  world.problem().trainer.batch_size_count = 0;
  for (const std::int64_t cap_mw : {30'000, 29'500, 29'000, 28'500, 27'000}) {
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"),
                     built_in_board_model("jetson-agx-orin"));
    const SearchOutcome outcome = world.run(policy, cap_mw);
    EXPECT_EQ(outcome.failure, "") << cap_mw;
    EXPECT_TRUE(outcome.held) << cap_mw;
  }
}

// Just above the lowest mode hardly anything fits, and what is asked in vain costs instructions
// too: of a weighted cost without a reference, which is infinite, and of what is hardly known to
// fit.
TEST(ModelledBoards, KeepTheirInstructionsWhereHardlyAnythingFits) {
  const ModelledBoard board("resnet18");
  for (const char* script : {"bayes.lua", "roofline.lua"}) {
    for (const std::int64_t cap_mw : {11'800, 12'000, 12'200, 12'500, 13'000}) {
      ProfileWorld world = board.world();
      world.problem().goal.objective = Objective::weighted;
      LuaPolicy policy(script, script_text(script), built_in_board_model("jetson-agx-orin"));
      const SearchOutcome outcome = world.run(policy, cap_mw);
      EXPECT_EQ(outcome.failure, "") << script << ' ' << cap_mw;
      EXPECT_TRUE(outcome.held) << script << ' ' << cap_mw;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, ModelledSearch,
                         testing::Values("binary_search.lua", "gradient.lua", "bayes.lua"),
                         [](const auto& script) {
                           return script.param.substr(0, script.param.find('.'));
                         });

// A small board far below what its model calls likely: the model is doubted before the search ends.
TEST(ModelledBayes, DoesNotDespairOfASmallBoardUnderALowCap) {
  const BoardDescription& board = *find_board("jetson-nano", built_in_boards());
  const WorkloadParameters& workload = board.find_workload("alexnet", Kind::infer)->second;
  PolicyProblem problem;
  problem.knobs = board.knob_space();
  problem.modes.clear();
  problem.trainer.kind = Kind::infer;
  problem.trainer.batch_size = 1;
  problem.trainer.batch_sizes = {1, 4, 16, 32, 64};
  problem.trainer.batch_size_count = 5;
  problem.goal = {Objective::time, {}, std::chrono::milliseconds(300), 30};
  ProfileWorld world(problem, [&](const Setting& setting) {
    const Demand demand =
        workload.demand(static_cast<double>(setting.batch_size[index(Kind::infer)]));
    const MinibatchCost cost = minibatch_cost(board.parameters(Kind::infer), demand,
                                              model_mode(problem.knobs, setting.mode, {}));
    return TrueCost{cost.minibatch_ms, cost.power_w};
  });
  for (std::int64_t cap_mw = 5'400; cap_mw <= 6'400; cap_mw += 100) {
    world.problem().observations.clear();
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"), built_in_board_model("jetson-nano"));
    const SearchOutcome outcome = world.run(policy, cap_mw);
    ASSERT_TRUE(outcome.held) << cap_mw << outcome.failure;
    EXPECT_TRUE(world.truth(outcome.setting).keeps(world.problem().goal)) << cap_mw;
  }
}

}  // namespace
}  // namespace gearshift
