// The search for most training beside inference: its arithmetic, its beliefs, and whole searches.
#include "policies/numerics/interleaved_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/random_draw.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

TEST(ExpectedGain, IsThatOfDraws) {
  std::mt19937_64 random(1);
  for (const double window_ms : {150.0, 420.0, 2000.0}) {
    for (const double best : {0.0, 2.5, 7.0}) {
      const double rate = 2.0;
      const LogBelief train{std::log(200.0), 0.2};
      double sum = 0;
      constexpr int kDraws = 40'000;
      for (int i = 0; i < kDraws; ++i) {
        const double ms = std::exp(train.mean + train.deviation * draw_normal(random));
        sum += std::max(0.0, rate * std::floor(window_ms / ms) - best);
      }
      EXPECT_NEAR(expected_gain(window_ms, rate, best, train), sum / kDraws, 0.05)
          << window_ms << ' ' << best;
    }
  }
  EXPECT_EQ(expected_gain(-5, 2, 0, {std::log(200.0), 0.2}), 0);
  // The best's own number of minibatches is no gain.
  EXPECT_NEAR(expected_gain(1000, 2, 8, {std::log(240.0), 1e-4}), 0, 1e-9);
}

// Training and inference that the board's model describes exactly.
struct InterleavedProblem : OrinProblem {
  Workload server;
  BoardModel board = *built_in_board_model("jetson-agx-orin");

  InterleavedProblem() {
    server = OrinProblem(Kind::infer).trainer;
    goal = {.objective = Objective::throughput,
            .power_mw = 30'000,
            .latency = std::chrono::milliseconds(800),
            .arrivals_per_s = 30};
  }
  PolicyContext context() const {
    PolicyContext context = OrinProblem::context();
    context.workloads[index(Kind::infer)] = &server;
    return context;
  }
  Observation measured(const Setting& setting) const {
    const ModelMode mode = model_mode(knobs, setting.mode, board.highest);
    const TrueCost train = cost(board, mode, 16);
    const TrueCost infer = cost(board, mode, setting.batch_size[index(Kind::infer)], Kind::infer);
    const double power_w = std::max(train.power_w, infer.power_w);
    if (1e3 * power_w > static_cast<double>(*goal.power_mw)) {
      Observation cut = cut_short(setting, Outcome::over_limit);
      cut.limit_mw = *goal.power_mw;
      return cut;
    }
    Observation answer = complete(setting, train.minibatch_ms, power_w);
    answer.cost[index(Kind::infer)] =
        complete(setting, infer.minibatch_ms, power_w, Kind::infer).cost[index(Kind::infer)];
    answer.power_margin_mw = 0;
    return answer;
  }
  // Training minibatches a second of the best setting that keeps the goal; -1: none does.
  double optimum() const {
    double most = -1;
    const SettingGrid grid(context(), highest_mode(&board), kMostGridSettings, Kind::infer);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const Observation answer = measured(grid.setting(i));
      if (answer.keeps(goal)) most = std::max(most, 1 / answer.value(goal));
    }
    return most;
  }
};

struct Searched {
  Request request;
  int probes = 0;
  Observation held;
};

Searched search(const InterleavedProblem& problem) {
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), problem.board);
  Searched searched;
  searched.request = policy.start(problem.context());
  while (searched.request.what == Request::What::measure && searched.probes < 30) {
    ++searched.probes;
    searched.request = policy.resume(problem.measured(searched.request.setting));
  }
  EXPECT_EQ(policy.failure(), "");
  if (searched.request.what == Request::What::hold) {
    searched.held = problem.measured(searched.request.setting);
  }
  return searched;
}

TEST(InterleavedSearch, ComesNearTheOptimumWithinItsProbes) {
  for (const double rate : {15.0, 30.0, 60.0}) {
    InterleavedProblem problem;
    problem.goal.arrivals_per_s = rate;
    const Searched searched = search(problem);
    ASSERT_EQ(searched.request.what, Request::What::hold) << rate;
    EXPECT_LE(searched.probes, 12);
    EXPECT_TRUE(searched.held.keeps(problem.goal));
    EXPECT_EQ(searched.held.setting.run, Run::both);
    EXPECT_GT(1 / searched.held.value(problem.goal), 0.9 * problem.optimum()) << rate;
  }
}

TEST(InterleavedSearch, HoldsASettingThatAnswersInTimeWhereNothingTrains) {
  InterleavedProblem problem;
  problem.goal.arrivals_per_s = 30;
  problem.goal.latency = std::chrono::milliseconds(60);  // only batch 1, every 33 ms
  ASSERT_EQ(problem.optimum(), 0);
  const Searched searched = search(problem);
  ASSERT_EQ(searched.request.what, Request::What::hold);
  EXPECT_TRUE(searched.held.keeps(problem.goal));
}

TEST(InterleavedSearch, FindsNothingWhereNothingAnswersInTime) {
  InterleavedProblem problem;
  problem.goal.latency = std::chrono::milliseconds(30);
  EXPECT_EQ(search(problem).request.what, Request::What::hold_safe);
}

TEST(InterleavedProcess, KnowsTrainingOfAModeForEveryInferenceBatch) {
  const InterleavedProblem problem;
  const PolicyContext context = problem.context();
  const BoardModel& board = problem.board;
  Workload one_batch = problem.trainer;
  one_batch.batch_size_count = 0;
  PolicyContext training = context;
  training.workloads[index(Kind::train)] = &one_batch;
  const SettingGrid modes(training, highest_mode(&board), kMostGridSettings, Kind::train);
  const SettingGrid grid(context, highest_mode(&board), kMostGridSettings, Kind::infer);
  ASSERT_EQ(grid.size(), 3 * modes.size());
  const auto process_of = [&](const SettingGrid& of) {
    return CostProcess(of, cost_centre(context, &board, of), cost_prior(context, &board, of));
  };
  InterleavedProcess process(modes, grid, process_of(modes), process_of(grid));
  const std::size_t setting = 3 * (modes.size() / 2);
  EXPECT_GT(process.train_time(setting, 1).deviation, 0.1);
  const Observation seen = problem.measured(grid.setting(setting));
  ASSERT_TRUE(seen.ok());
  const double train_ms = 1e3 * seconds(seen.cost[0].minibatch_mean);
  const double power_w = static_cast<double>(seen.power_mean_mw) / 1e3;
  process.learn({.setting = setting,
                 .train_ms = train_ms,
                 .infer_ms = 1e3 * seconds(seen.cost[1].minibatch_mean),
                 .power_w = power_w});
  process.condition();
  for (std::size_t i = setting; i < setting + 3; ++i) {
    EXPECT_NEAR(process.train_time(i, 1).mean, std::log(train_ms), 1e-9);
    EXPECT_LT(process.train_time(i, 1).deviation, 1e-3);
  }
  EXPECT_GT(process.infer_time(setting + 2, 1).deviation, 0.02);
  // Training draws no more than what was read while both ran.
  EXPECT_GT(process.power_odds(setting, std::log(1.2 * power_w), 1), 0.95);
}

TEST(InterleavedDimensions, EndWithTheInferenceBatch) {
  const InterleavedProblem problem;
  LuaPolicy policy("d.lua", "log(dimensions[#dimensions].name) return nil", problem.board);
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), "infer_batch");
}

}  // namespace
}  // namespace gearshift
