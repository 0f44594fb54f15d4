// The search for most training beside inference: its arithmetic and its beliefs.
#include "policies/numerics/interleaved_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "controller/interleaving.h"
#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/normal.h"
#include "policies/numerics/random_draw.h"
#include "tests/policies/interleaved_problem.h"

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

TEST(ExpectedGain, OfAllTheTimeIsThatOfDraws) {
  std::mt19937_64 random(2);
  const LogBelief train{std::log(200.0), 0.2};
  for (const double best : {0.0, 2.5, 4.0, 7.0}) {
    double sum = 0;
    constexpr int kDraws = 40'000;
    for (int i = 0; i < kDraws; ++i) {
      const double ms = std::exp(train.mean + train.deviation * draw_normal(random));
      sum += std::max(0.0, 800 / ms - best);
    }
    EXPECT_NEAR(expected_gain_of_all(800, best, train), sum / kDraws, 0.02) << best;
  }
  EXPECT_EQ(expected_gain_of_all(0, 2, train), 0);
  EXPECT_EQ(expected_gain_of_all(-5, 0, train), 0);
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

// What is believed of every setting before anything was measured.
struct Unmeasured {
  InterleavedProblem problem;
  PolicyContext context = problem.context();
  Workload one_batch = problem.trainer;
  SettingGrid modes = modes_of(context, one_batch, problem.board);
  SettingGrid grid{context, highest_mode(&problem.board), kMostGridSettings, Kind::infer};
  InterleavedProcess process{modes, grid, process_of(modes), process_of(grid)};
  std::vector<std::uint8_t> excluded = std::vector<std::uint8_t>(grid.size());

  Unmeasured() { process.condition(); }
  static SettingGrid modes_of(PolicyContext context, Workload& workload, const BoardModel& board) {
    workload.batch_size_count = 0;
    context.workloads[index(Kind::train)] = &workload;
    return {context, highest_mode(&board), kMostGridSettings, Kind::train};
  }
  CostProcess process_of(const SettingGrid& of) const {
    CostCentre centre = cost_centre(context, &problem.board, of);
    if (of.kind() == Kind::infer) centre = beside_training(centre, context.goal);
    return {of, centre, cost_prior(context, &problem.board, of)};
  }
  double odds(std::size_t setting, const Goal& goal) const {
    const double wait_ms = 1e3 * grid.batch_size(setting) / goal.arrivals_per_s;
    const double most_ms = std::min(wait_ms, 1e3 * seconds(*goal.latency) - wait_ms);
    if (most_ms <= 0) return 0;
    const LogBelief infer = process.infer_time(setting, 1);
    return process.power_odds(setting, std::log(limit_w(goal)), 1) *
           normal_odds((std::log(most_ms) - infer.mean) / infer.deviation);
  }
  static double limit_w(const Goal& goal) { return static_cast<double>(*goal.power_mw) / 1e3; }
  std::optional<Probe> probe(const Goal& goal, double least_odds) const {
    return interleaved_probe(
        process, goal, excluded,
        {.probe = {.limit_w = limit_w(goal), .least_odds = least_odds, .safest_odds = 1e-9}});
  }
};

TEST(InterleavedProbe, WhereNothingIsKnownToKeepTheGoalIsTheLikeliestOfAllSettings) {
  const Unmeasured unmeasured;
  for (const std::int64_t cap_mw : {12'000, 14'000, 17'000}) {
    for (const double rate : {20.0, 60.0, 120.0}) {
      Goal goal = unmeasured.problem.goal;
      goal.power_mw = cap_mw;
      goal.arrivals_per_s = rate;
      double most = 0;
      for (std::size_t i = 0; i < unmeasured.grid.size(); ++i) {
        most = std::max(most, unmeasured.odds(i, goal));
      }
      const std::optional<Probe> free = unmeasured.probe(goal, 0);
      ASSERT_TRUE(free) << cap_mw << ' ' << rate;
      EXPECT_GT(free->odds, 0.98 * most) << cap_mw << ' ' << rate;
      // Sure of the power, and late for certain, is no help.
      const std::optional<Probe> careful = unmeasured.probe(goal, 0.9);
      ASSERT_TRUE(careful) << cap_mw << ' ' << rate;
      EXPECT_GT(careful->odds, 0.69 * most) << cap_mw << ' ' << rate;
    }
  }
}

// A cap that nothing reaches must not be what makes the likeliest setting worth a look.
TEST(InterleavedProbe, WithoutALimitIsTheLikeliestToo) {
  const Unmeasured unmeasured;
  std::size_t late = 0;
  for (double rate = 50; rate < 100'000; rate *= 1.2) {
    Goal goal = unmeasured.problem.goal;
    goal.arrivals_per_s = rate;
    goal.power_mw.reset();
    const auto probe = [&](double limit_w, std::optional<double> safest_odds) {
      return interleaved_probe(unmeasured.process, goal, unmeasured.excluded,
                               {.probe = {.limit_w = limit_w, .safest_odds = safest_odds}});
    };
    const double none = std::numeric_limits<double>::infinity();
    const std::optional<Probe> free = probe(none, 1e-9), loose = probe(1e6, 1e-9);
    ASSERT_EQ(free.has_value(), loose.has_value()) << rate;
    if (!free) continue;
    EXPECT_EQ(free->setting, loose->setting) << rate;
    if (!probe(none, std::nullopt)) ++late;
  }
  EXPECT_GT(late, 0U) << "believed to be far too late, and taken";
}

// The odds that training minibatches end before batches of requests that are half full are late.
double odds_to_train(const Unmeasured& unmeasured, std::size_t setting, const Goal& goal) {
  const double half_batch_ms = 500 * unmeasured.grid.batch_size(setting) / goal.arrivals_per_s;
  const double infer_ms = std::exp(unmeasured.process.infer_time(setting, 1).mean);
  const double left_ms = 1e3 * seconds(planned_latency(*goal.latency)) - infer_ms;
  const double most_ms = std::min(left_ms - infer_ms / 2, 2 * (left_ms - half_batch_ms));
  const LogBelief train = unmeasured.process.train_time(setting, 1);
  return most_ms > 0 ? normal_odds((std::log(most_ms) - train.mean) / train.deviation) : 0;
}

TEST(InterleavedProbe, OneByOneTheLikeliestIsOneBesideWhichTrainingFits) {
  const Unmeasured unmeasured;
  std::size_t others = 0;
  for (const std::int64_t cap_mw : {12'000, 14'000, 17'000}) {
    Goal goal = unmeasured.problem.goal;
    goal.power_mw = cap_mw;
    goal.arrivals_per_s = 60;
    goal.latency = std::chrono::milliseconds(500);
    const std::optional<Probe> serves = unmeasured.probe(goal, 0);
    goal.one_by_one = true;
    double most = 0;
    for (std::size_t i = 0; i < unmeasured.grid.size(); ++i) {
      most = std::max(most, unmeasured.odds(i, goal) * odds_to_train(unmeasured, i, goal));
    }
    const std::optional<Probe> trains = unmeasured.probe(goal, 0);
    ASSERT_TRUE(serves && trains) << cap_mw;
    EXPECT_GT(trains->odds * odds_to_train(unmeasured, trains->setting, goal), 0.98 * most);
    others += trains->setting != serves->setting;
  }
  EXPECT_GT(others, 0U) << "what serves most surely is not what training fits beside";
}

// Requests at 90 a second within half a second leave no room to train under any setting.
TEST(InterleavedProbe, WhereNothingTrainsWhatLeavesTimeToBurstsGains) {
  const Unmeasured unmeasured;
  Goal goal = unmeasured.problem.goal;
  goal.arrivals_per_s = 90;
  goal.latency = std::chrono::milliseconds(500);
  const auto gain = [&](std::optional<double> busy_ms) {
    const std::optional<Probe> probe =
        interleaved_probe(unmeasured.process, goal, unmeasured.excluded,
                          {.best_rate = 0,
                           .best_busy_ms = busy_ms,
                           .probe = {.limit_w = Unmeasured::limit_w(goal), .least_odds = 0.15}});
    return probe ? probe->gain : 0;
  };
  const double of_training = gain(std::nullopt);
  // The best is busy for nine tenths of the time, for six, for half, for less.
  EXPECT_GT(gain(900.0 / 90), of_training + 0.004);
  EXPECT_GT(gain(900.0 / 90), gain(600.0 / 90));
  EXPECT_GT(gain(600.0 / 90), of_training);
  EXPECT_EQ(gain(500.0 / 90), of_training);
  EXPECT_EQ(gain(100.0 / 90), of_training);
}

// A measurement that was cut short, since requests were late, has times and no power.
TEST(InterleavedProcess, TimesThatAreKnownWithoutPowerAreLearnt) {
  Unmeasured world;
  const std::size_t setting = 3 * (world.modes.size() / 2), beside = setting + 3;
  const LogBelief infer = world.process.infer_time(beside, 1);
  const LogBelief train = world.process.train_time(beside, 1);
  const double limit = world.process.mean(setting).log_power;
  const double odds = world.process.power_odds(setting, limit, 1);
  const double infer_ms = std::exp(world.process.mean(setting).log_infer_ms);
  world.process.learn({.setting = setting, .infer_ms = 2 * infer_ms, .infer_noise = 0.05});
  world.process.condition();
  EXPECT_NEAR(world.process.infer_time(setting, 1).mean, std::log(2 * infer_ms), 0.1);
  EXPECT_GT(world.process.infer_time(beside, 1).mean, infer.mean);
  EXPECT_NEAR(world.process.train_time(beside, 1).mean, train.mean, 1e-9) << "none was seen";
  EXPECT_GT(world.process.power_odds(setting, limit, 1), odds / 2) << "power was not measured";

  const double train_ms = std::exp(world.process.mean(setting).log_train_ms);
  world.process.learn({.setting = setting, .train_ms = 2 * train_ms, .train_noise = 0.05});
  world.process.condition();
  EXPECT_GT(world.process.train_time(beside, 1).mean, train.mean + 0.1);
  // Not as sure as what was measured to its end.
  EXPECT_GT(world.process.train_time(setting, 1).deviation, 0.01);
}

// Whatever a script says of a cut setting, and of minibatches that were not there.
TEST(InterleavedProcess, TimesThatAScriptMadeUpBreakNothing) {
  const InterleavedProblem problem;
  LuaPolicy policy("made_up.lua", R"lua(
local setting = safe
setting.infer_batch, setting.train_batch, setting.run = batch_sizes.infer[1], 16, "both"
local function late(infer) return gp.learn { setting = setting, ok = false, reason = "late", infer = infer } end
assert(late { minibatch_ms = 90, minibatch_ms_stddev = 1, count = 3 })
assert(not late(nil) and not late {} and not late { minibatch_ms = 1 / 0, count = 2 })
assert(not late { minibatch_ms = 0, count = 2 } and not late { minibatch_ms = 90, count = 0 })
for _, count in ipairs { 1e-300, 1e300 } do
  assert(late { minibatch_ms = 1e-300, minibatch_ms_stddev = 1 / 0, count = count })
  assert(late { minibatch_ms = 1e300, minibatch_ms_stddev = 1e308, count = count })
end
local probe = gp.next { power_odds = 0.15, safest = 0, doubt = 1 }
assert(not probe or probe.odds == probe.odds)
return setting
)lua");
  const Request request = policy.start(problem.context());
  EXPECT_EQ(request.what, Request::What::hold) << policy.failure();
}

}  // namespace
}  // namespace gearshift
