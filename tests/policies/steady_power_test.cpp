// Searches on boards that no model describes and whose power hardly moves: most of it is drawn at
// rest, and a stand-in's model believes every step up to be far over the cap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/cost_process.h"
#include "tests/policies/profile_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

// Any Linux machine, by its control groups: a quota in percent of one core.
struct MachineProblem : PolicyProblem {
  MachineProblem() {
    knobs.knobs = {
        {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 4, 8}},
        {"cpu_quota_percent", Unit::percent, KnobClass::clock, {10, 25, 50, 100, 200, 400, 800}}};
    modes.clear();
    trainer.batch_size_count = 0;
  }
  static TrueCost cost(const Setting& setting) {
    const auto cores = static_cast<double>(setting.mode.values[0]);
    const auto quota = static_cast<double>(setting.mode.values[1]);
    const double used = std::min(cores, quota / 100);
    return {5 + 90 / used, 20 + 0.6 * used};
  }
};

// One that rests at nearly all of its power, with fine steps of the quota: with one core six of
// them are more than it can use.
struct RestingProblem : PolicyProblem {
  RestingProblem() {
    knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4, 5, 6, 7, 8}},
                   {"cpu_quota_percent",
                    Unit::percent,
                    KnobClass::clock,
                    {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200, 300, 400, 600, 800}}};
    modes.clear();
    trainer.batch_size_count = 0;
  }
  static double used(const Setting& setting) {
    return std::min(static_cast<double>(setting.mode.values[0]),
                    static_cast<double>(setting.mode.values[1]) / 100);
  }
  static TrueCost cost(const Setting& setting) {
    return {400 / used(setting), 60 + 3 * used(setting)};
  }
};

// A small board with two clocks of its GPU far apart.
struct SmallProblem : PolicyProblem {
  SmallProblem() {
    knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {2, 3}},
                   {"gpu_mhz", Unit::khz, KnobClass::clock, {100'000, 333'000}}};
    modes.clear();
    trainer.batch_sizes = {4, 32};
    trainer.batch_size_count = 2;
    trainer.batch_size = 4;
  }
  static TrueCost cost(const Setting& setting) {
    const double ghz = static_cast<double>(setting.mode.values[1]) / 1e6;
    const double samples = setting.batch_size[index(Kind::train)];
    return {1 + 5 * samples / ghz, 8.2 + 3 * ghz + static_cast<double>(setting.mode.values[0]) / 8};
  }
};

double excess(const PolicyProblem& problem, TrueCost (*cost)(const Setting&), double cap_w) {
  ProfileWorld world(problem, cost);
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  const auto cap_mw = static_cast<std::int64_t>(1e3 * cap_w);
  const SearchOutcome outcome = world.run(policy, cap_mw);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_LE(outcome.over_limit, 3) << cap_w;
  if (!outcome.held || world.truth(outcome.setting).power_mean_mw > cap_mw) return INFINITY;
  const SettingGrid grid(problem.context(), highest_mode(nullptr));
  double least = INFINITY;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Observation truth = world.truth(grid.setting(i));
    if (truth.power_mean_mw <= cap_mw) least = std::min(least, truth.value(problem.goal));
  }
  return world.truth(outcome.setting).value(problem.goal) / least - 1;
}

TEST(SteadyPower, BayesClimbsWhereTheCapAllowsIt) {
  for (const double cap_w : {21.0, 22.0, 23.0, 25.0}) {
    EXPECT_LT(excess(MachineProblem(), MachineProblem::cost, cap_w), 0.05) << cap_w;
  }
  EXPECT_LT(excess(SmallProblem(), SmallProblem::cost, 14), 0.05);
}

TEST(SteadyPower, BayesLeavesOneCoreOfABoardThatRestsHigh) {
  for (const double cap_w : {72.0, 76.8, 81.6}) {
    EXPECT_LE(excess(RestingProblem(), RestingProblem::cost, cap_w), 1) << cap_w;
  }
}

// A quota of more than there are cores is the setting that was measured with less of it.
TEST(SteadyPower, MeasuresNoQuotaThatCannotBeUsedTwice) {
  std::set<std::pair<std::int64_t, double>> seen;
  ProfileWorld world(RestingProblem(), [&](const Setting& setting) {
    const bool is_new = seen.emplace(setting.mode.values[0], RestingProblem::used(setting)).second;
    EXPECT_TRUE(is_new) << setting.mode.values[0] << " cores, " << setting.mode.values[1] << " %";
    return RestingProblem::cost(setting);
  });
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  EXPECT_TRUE(world.run(policy, 81'600).held);
  EXPECT_GT(seen.size(), 3U);
}

// A cut says more than that a setting is over the cap: by how much it was.
TEST(SteadyPower, WhatWasReadOfACutTellsHowFarPowerReaches) {
  const RestingProblem problem;
  const PolicyContext context = problem.context();
  const SettingGrid grid(context, highest_mode(nullptr));
  const auto setting = [&](std::int64_t cores, std::int64_t quota) {
    Setting one = grid.setting(0);
    one.mode.values[0] = cores;
    one.mode.values[1] = quota;
    return *grid.find(one);
  };
  const auto believed_w = [&](double cut_at_w) {
    CostProcess process(grid, cost_centre(context, nullptr, grid),
                        cost_prior(context, nullptr, grid));
    process.learn({.setting = setting(1, 10), .minibatch_ms = 4000, .power_w = 60.3});
    process.learn({.setting = setting(1, 100), .minibatch_ms = 400, .power_w = 63});
    process.learn(
        {.setting = setting(8, 800), .power_w = 81.6, .over_limit = true, .cut_at_w = cut_at_w});
    process.condition();
    return std::exp(process.mean(setting(4, 400)).log_power);
  };
  EXPECT_LT(believed_w(84), 0.9 * believed_w(0));
}

TEST(SteadyPower, NoMoreOfAQuotaIsUsedThanThereAreCores) {
  const MachineProblem problem;
  const PolicyContext context = problem.context();
  const SettingGrid grid(context, highest_mode(nullptr));
  CostProcess process(grid, cost_centre(context, nullptr, grid),
                      cost_prior(context, nullptr, grid));
  const auto setting = [&](std::int64_t cores, std::int64_t quota) {
    Setting one = grid.setting(0);
    one.mode.values[0] = cores;
    one.mode.values[1] = quota;
    return *grid.find(one);
  };
  process.learn({setting(1, 100), 95, 20.6, 0, 0, false});
  process.condition();
  EXPECT_NEAR(process.mean(setting(1, 800)).log_time, std::log(95), 0.03);
  EXPECT_NEAR(process.mean(setting(1, 800)).log_power, std::log(20.6), 0.03);
  EXPECT_LT(process.mean(setting(2, 200)).log_time, std::log(85));
}

}  // namespace
}  // namespace gearshift
