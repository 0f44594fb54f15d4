// Searches without a board model for what serves requests in time, where batch size and clocks pull
// against each other: a small batch needs clocks that a large one does without.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "tests/policies/profile_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

using std::chrono_literals::operator""ms;

// Twelve modes, and requests in batches of 1 to 64.
struct ServingProblem : PolicyProblem {
  explicit ServingProblem(const Goal& wanted) {
    knobs.knobs = {
        {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3}},
        {"gpu_mhz", Unit::khz, KnobClass::clock, {100'000, 333'000, 777'000, 1'234'000}}};
    modes.clear();
    for (const std::int64_t gpu : knobs.knobs[1].values) {
      for (const std::int64_t cores : knobs.knobs[0].values) modes.push_back({{cores, gpu}, 2});
    }
    trainer.kind = Kind::infer;
    trainer.batch_size = 1;
    trainer.batch_sizes = {1, 4, 16, 64};
    goal = wanted;
  }

  static TrueCost cost(const Setting& setting) {
    const double ghz = static_cast<double>(setting.mode.values[1]) / 1e6;
    const double cores = static_cast<double>(setting.mode.values[0]);
    const double batch = setting.batch_size[index(Kind::infer)];
    return {2 + 0.13 * batch / ghz + 0.1 / cores,
            4.5 + 0.4 * cores + 1.2 * ghz + 0.3 * std::log(batch)};
  }
};

// The same for training under a cap: that of a batch of samples as of one of requests.
ProfileWorld training_world(std::int64_t cap_mw) {
  ServingProblem training({Objective::time, cap_mw});
  training.trainer.kind = Kind::train;
  return {training, [](const Setting& setting) {
            Setting serving = setting;
            serving.batch_size[index(Kind::infer)] = setting.batch_size[index(Kind::train)];
            return ServingProblem::cost(serving);
          }};
}

// How many measurements until one that keeps the goal is made.
std::optional<int> first_that_serves(ProfileWorld& world, const char* script, int most) {
  LuaPolicy policy(script, script_text(script));
  Request request = policy.start(world.problem().context());
  const Goal& goal = world.problem().goal;
  for (int i = 1; i <= most && request.what == Request::What::remeasure; ++i) {
    Observation answer = world.truth(request.setting);
    if (answer.keeps(goal)) return i;
    if (!answer.within(*goal.power_mw)) answer = cut_short(request.setting, Outcome::over_limit);
    answer.limit_mw = *goal.power_mw;
    request = policy.resume(answer);
  }
  EXPECT_EQ(policy.failure(), "");
  return std::nullopt;
}

TEST(ServingBatches, OgdFindsTheSmallBatchThatNeedsHighClocks) {
  for (const Objective objective : {Objective::latency, Objective::energy}) {
    // Four requests come in 9.3 ms, and one takes less than the 2.3 ms of its own at 777 MHz and
    // above.
    ProfileWorld world(ServingProblem({objective, 7'000, 8ms, 430}), &ServingProblem::cost);
    EXPECT_LE(first_that_serves(world, "ogd.lua", 60).value_or(99), 15);
  }
}

TEST(ServingBatches, OgdEndsWhereNothingServes) {
  ProfileWorld world(ServingProblem({Objective::latency, 7'000, 3ms, 400}), &ServingProblem::cost);
  LuaPolicy policy("ogd.lua", script_text("ogd.lua"));
  const SearchOutcome outcome = world.run(policy);
  EXPECT_FALSE(outcome.held);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_LE(outcome.measurements, 20);
}

// Sixteen take 320 ms to come, and half of them 160.
TEST(ServingBatches, OneByOneABatchThatIsHalfFullInTimeServesAlone) {
  for (const char* script : {"binary_search.lua", "gradient.lua", "roofline.lua", "bayes.lua"}) {
    ServingProblem problem({Objective::energy, 8'000, 300ms, 50});
    problem.goal.one_by_one = true;
    problem.trainer.batch_sizes = {16, 64};
    problem.trainer.batch_size_count = 2;
    problem.trainer.batch_size = 16;
    ProfileWorld world(problem, &ServingProblem::cost);
    LuaPolicy policy(script, script_text(script));
    const SearchOutcome outcome = world.run(policy);
    ASSERT_TRUE(outcome.held) << script << outcome.failure;
    EXPECT_TRUE(world.truth(outcome.setting).keeps(problem.goal)) << script;
  }
}

// Nothing can answer so many requests; of fewer most settings do.
TEST(ServingBatches, WhatWasLateAtAHigherRateIsMeasuredAgain) {
  for (const char* script : {"ogd.lua", "full_sweep.lua", "full_sweep_descend.lua"}) {
    ServingProblem problem({Objective::latency, 8'000, 30ms, 20'000});
    problem.goal.one_by_one = true;
    ProfileWorld world(problem, &ServingProblem::cost);
    LuaPolicy busy(script, script_text(script));
    EXPECT_FALSE(world.run(busy).held) << script;
    const std::size_t known = world.problem().observations.size();
    EXPECT_GT(known, 5U) << script;
    world.problem().goal.arrivals_per_s = 400;
    LuaPolicy policy(script, script_text(script));
    Request request = policy.start(world.problem().context());
    EXPECT_NE(request.what, Request::What::hold_safe) << script << policy.failure();
    EXPECT_NE(request.what, Request::What::hold) << script;
  }
}

// What answers late keeps the cap: there is power left to turn into speed.
TEST(ServingBatches, HalvingGoesUpWhereRequestsAreLate) {
  ServingProblem problem({Objective::latency, 8'000, 30ms, 50});
  problem.goal.one_by_one = true;
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  Request request = policy.start(problem.context());
  std::vector<PowerMode> asked;
  while (request.what == Request::What::measure && asked.size() < 20) {
    asked.push_back(request.setting.mode);
    request = policy.resume(cut_short(request.setting, Outcome::late));
  }
  EXPECT_EQ(request.what, Request::What::hold_safe) << policy.failure();
  EXPECT_EQ(asked.back(), problem.knobs.lowest()) << "what is held anyway comes last";
  asked.pop_back();
  ASSERT_GE(asked.size(), 3U);
  for (std::size_t i = 1; i < asked.size(); ++i) {
    for (std::size_t knob = 0; knob < 2; ++knob) {
      EXPECT_GE(asked[i].values[knob], asked[i - 1].values[knob]) << i;
    }
  }
  EXPECT_EQ(asked.back(), problem.knobs.highest());
}

// One clock, of which a server's time and power are simple functions: two settings tell all others.
struct OneClockProblem : PolicyProblem {
  OneClockProblem() {
    knobs.knobs = {{"gpu_mhz", Unit::khz, KnobClass::clock, {}}};
    modes.clear();
    for (std::int64_t mhz = 200; mhz <= 1'000; mhz += 50) {
      knobs.knobs[0].values.push_back(1'000 * mhz);
      modes.push_back({{1'000 * mhz}, 1});
    }
    trainer.kind = Kind::infer;
    trainer.batch_size = 1;
    trainer.batch_size_count = 0;
    goal = {Objective::energy, 30'000, 1'000ms, 100};
    goal.one_by_one = true;
  }
};

// How often a server is tried that is busy for more than 0.85 of the time, but not all of it.
int tries_nearly_always_busy(const char* script, double (*ms_at)(double ghz)) {
  ProfileWorld world(OneClockProblem(), [ms_at](const Setting& setting) {
    const double ghz = static_cast<double>(setting.mode.values[0]) / 1e6;
    return TrueCost{ms_at(ghz), 5 + 10 * ghz};
  });
  LuaPolicy policy(script, script_text(script));
  const SearchOutcome outcome = world.run(policy);
  EXPECT_TRUE(outcome.held) << script << ": " << outcome.failure;
  EXPECT_TRUE(world.truth(outcome.setting).keeps(world.problem().goal));
  int tries = 0;
  for (const Observation& one : world.problem().observations) {
    const double busy = 100 * one.sample_s(Kind::infer);
    tries += busy > 0.85 && busy <= 1 ? 1 : 0;
  }
  return tries;
}

// Requests that come by chance would queue up behind it. What a search begins with may be.
TEST(ServingBatches, LeastEnergyIsSoughtBelowTheMostThatAServerMayBeBusy) {
  const auto falls = [](double ghz) { return 16.2 - 10 * ghz; };
  const auto is_inverse = [](double ghz) { return 2 + 4 / ghz; };
  EXPECT_LE(tries_nearly_always_busy("linear.lua", falls), 1);
  EXPECT_EQ(tries_nearly_always_busy("linear_inverse.lua", is_inverse), 0);
  EXPECT_LE(tries_nearly_always_busy("binary_search.lua", is_inverse), 1);
}

SearchOutcome roofline(ProfileWorld& world) {
  LuaPolicy policy("roofline.lua", script_text("roofline.lua"));
  SearchOutcome outcome = world.run(policy);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  EXPECT_TRUE(world.truth(outcome.setting).keeps(world.problem().goal));
  return outcome;
}

TEST(ServingBatches, RooflineWithoutAModelTakesTheSmallestBatchThatKeepsUp) {
  ProfileWorld world(ServingProblem({Objective::latency, 8'000, 30ms, 500}), &ServingProblem::cost);
  const SearchOutcome outcome = roofline(world);  // one alone takes more than 2 ms
  EXPECT_EQ(outcome.setting.batch_size[index(Kind::infer)], 4);
  EXPECT_LE(outcome.measurements, 8);
}

TEST(ServingBatches, RooflineWithoutAModelTakesALargerBatchWhereThatSaves) {
  ProfileWorld saving(ServingProblem({Objective::energy, 9'000, 50ms, 500}), &ServingProblem::cost);
  const SearchOutcome outcome = roofline(saving);
  EXPECT_EQ(outcome.setting.batch_size[index(Kind::infer)], 16);
  EXPECT_LE(outcome.measurements, 10);
  ProfileWorld world = training_world(8'000);
  EXPECT_GT(roofline(world).setting.batch_size[index(Kind::train)], 1);
}

// What halving ends at is close below the cap, as a rule: a larger batch would only be cut there.
TEST(ServingBatches, RooflineWithoutAModelTriesNoLargerBatchWhereThereIsNoRoom) {
  ProfileWorld world = training_world(6'950);
  const SearchOutcome outcome = roofline(world);
  EXPECT_EQ(outcome.setting.mode.values[1], 1'234'000);
  EXPECT_EQ(outcome.setting.batch_size[index(Kind::train)], 1);
  EXPECT_LE(outcome.measurements, 4);
  EXPECT_EQ(outcome.over_limit, 1);
}

}  // namespace
}  // namespace gearshift
