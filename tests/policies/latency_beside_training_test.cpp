// Least latency of a server that training runs beside: inference is what is searched.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/goal_judge.h"
#include "tests/policies/interleaved_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

struct LatencyProblem : InterleavedProblem {
  LatencyProblem() {
    goal.objective = Objective::latency;
    server.batch_size = 16;
  }
  double least_latency_s() const {
    double least = std::numeric_limits<double>::infinity();
    const SettingGrid grid(context(), highest_mode(&board), kMostGridSettings);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const Observation answer = measured(grid.setting(i));
      if (answer.keeps(goal)) least = std::min(least, answer.value(goal));
    }
    return least;
  }
};

// Training has its batch size, and latency is the server's.
TEST(LatencyBesideTraining, TheLastDimensionIsTheInferenceBatch) {
  LatencyProblem problem;
  LuaPolicy policy("d.lua", "log(dimensions[#dimensions].name) return nil", problem.board);
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), "infer_batch");
  EXPECT_EQ(SettingGrid(problem.context(), {12, 2, 1.3, 3}).kind(), Kind::infer);
  problem.goal.arrivals_per_s = 0;
  EXPECT_EQ(SettingGrid(problem.context(), {12, 2, 1.3, 3}).kind(), Kind::train);
}

TEST(LatencyBesideTraining, AnAnswerIsOfInference) {
  const LatencyProblem problem;
  LuaPolicy policy("m.lua", R"lua(
local answer = measure(safe)
log(string.format("%g %g %g", answer.minibatch_ms, answer.train.minibatch_ms, answer.value))
return nil)lua",
                   problem.board);
  Observation answer;
  answer.setting = policy.start(problem.context()).setting;
  answer.setting.run = Run::both;
  answer.setting.batch_size = {16, 4};
  answer.power_mean_mw = 20'000;
  answer.cost[index(Kind::train)] = {.minibatch_mean = std::chrono::milliseconds(320),
                                     .minibatches = 3};
  answer.cost[index(Kind::infer)] = {.minibatch_mean = std::chrono::milliseconds(20),
                                     .minibatches = 3};
  policy.resume(answer);
  const double latency_s = 0.02 + 4 / problem.goal.arrivals_per_s;
  char text[64];
  std::snprintf(text, sizeof text, "20 320 %g", latency_s);
  EXPECT_EQ(policy.take_log(), text);
}

// What the search believes of a setting and what its answer says are of one kind.
TEST(LatencyBesideTraining, ALimitOfEnergyIsOfTheRequestsThatAreSearched) {
  LatencyProblem problem;
  problem.goal.power_mw = 1'000'000;
  const SettingGrid grid(problem.context(), highest_mode(&problem.board), kMostGridSettings);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 2 * grid.size(); ++i) {
    const Observation answer = problem.measured(grid.setting(i / 2));
    problem.goal.one_by_one = i % 2 != 0;
    problem.goal.energy_j = problem.goal.one_by_one ? 0.6 : 0.1;
    const GoalJudge judge(problem.goal, grid.kind(), std::numeric_limits<double>::infinity());
    const Cost& cost = answer.cost[index(Kind::infer)];
    const double over =
        judge.log_energy_over(grid.batch_size(i / 2), std::log(1e3 * seconds(cost.minibatch_mean)),
                              std::log(static_cast<double>(answer.power_mean_mw) / 1e3));
    EXPECT_EQ(answer.keeps_energy(problem.goal), over <= 0) << i;
    kept += over <= 0 ? 1U : 0U;
  }
  EXPECT_GT(kept, 0U);
  EXPECT_LT(kept, 2 * grid.size());
}

TEST(LatencyBesideTraining, ScriptsSearchTheBatchOfRequests) {
  const LatencyProblem problem;
  const double least_s = problem.least_latency_s();
  const std::pair<const char*, double> expected[] = {
      {"bayes.lua", 1.02},   {"full_sweep.lua", 1},      {"roofline.lua", 1.02},
      {"gradient.lua", 1.1}, {"binary_search.lua", 1.1}, {"linear.lua", 1.25}};
  for (const auto& [script, most] : expected) {
    LuaPolicy policy(script, script_text(script), problem.board);
    Request request = policy.start(problem.context());
    for (int i = 0; request.what == Request::What::measure && i < 500; ++i) {
      request = policy.resume(problem.measured(request.setting));
    }
    EXPECT_EQ(policy.failure(), "") << script;
    ASSERT_EQ(request.what, Request::What::hold) << script;
    const Observation held = problem.measured(request.setting);
    EXPECT_TRUE(held.keeps(problem.goal)) << script;
    EXPECT_LE(held.value(problem.goal), most * least_s * (1 + 1e-9)) << script;
  }
}

}  // namespace
}  // namespace gearshift
