// Searches on boards that no model describes: on another scale of power than the stand-in's, with
// tables from elsewhere, with knobs that no model knows, and with settings that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/next_probe.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

const BoardModel& unmodelled_orin() {
  static const BoardModel model = *built_in_board_model("jetson-agx-orin");
  return model;
}

// The made-up workload of OrinProblem on a board that draws so many times as much.
ProfileWorld scaled_world(const OrinProblem& problem, double scale) {
  const KnobSpace knobs = problem.knobs;
  return {problem, [knobs, scale](const Setting& setting) {
            TrueCost cost = OrinProblem::cost(
                unmodelled_orin(), model_mode(knobs, setting.mode, unmodelled_orin().highest), 16);
            cost.power_w *= scale;
            return cost;
          }};
}

// How far a setting is from the best of all that keep the cap; infinity where it does not.
double excess(const ProfileWorld& world, const PolicyProblem& problem, std::int64_t cap_mw,
              const Setting& setting) {
  if (world.truth(setting).power_mean_mw > cap_mw) return INFINITY;
  const SettingGrid grid(problem.context(), highest_mode(nullptr));
  double least = INFINITY;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Observation truth = world.truth(grid.setting(i));
    if (truth.ok() && truth.power_mean_mw <= cap_mw) {
      least = std::min(least, truth.value(problem.goal));
    }
  }
  return world.truth(setting).value(problem.goal) / least - 1;
}

double bayes_excess(const OrinProblem& problem, double scale, double cap_w) {
  ProfileWorld world = scaled_world(problem, scale);
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  const auto cap_mw = static_cast<std::int64_t>(1e3 * scale * cap_w);
  const SearchOutcome outcome = world.run(policy, cap_mw);
  EXPECT_EQ(outcome.failure, "");
  EXPECT_LE(outcome.over_limit, 4) << scale;
  return outcome.held ? excess(world, problem, cap_mw, outcome.setting) : INFINITY;
}

TEST(UnmodelledBoard, BayesFindsTheScaleOfItsPower) {
  for (const double scale : {0.05, 1.0, 30.0}) {
    for (const double cap_w : {20.0, 30.0}) {
      EXPECT_LT(bayes_excess(OrinProblem(), scale, cap_w), 0.25) << scale << ", " << cap_w;
    }
  }
}

TEST(UnmodelledBoard, BayesForgivesATableOfAnotherScale) {
  OrinProblem problem;
  Profile table(problem.knobs);
  table.device = "elsewhere";
  table.workload = "other";
  const SettingGrid grid(problem.context(), highest_mode(nullptr));
  const Demand demand{.A = 60, .B = 100, .L = 40, .P = 140, .O = 6, .workers = 4, .kg = 10};
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const MinibatchCost cost =
        minibatch_cost(unmodelled_orin().parameters[index(Kind::train)], demand, grid.mode(i));
    ASSERT_TRUE(
        table.add({grid.setting(i).mode, 16, cost.minibatch_ms, 20 * cost.power_w, std::nullopt}));
  }
  problem.prior = {&table};
  for (const double cap_w : {20.0, 30.0}) {
    EXPECT_LT(bayes_excess(problem, 1, cap_w), 0.1) << cap_w;
  }
}

// What so many measurements of thompson.lua are of.
std::vector<Setting> thompson(const ProfileWorld& world, PolicyProblem problem, std::int64_t cap_mw,
                              int measurements) {
  problem.goal.power_mw = cap_mw;
  LuaPolicy policy("thompson.lua", script_text("thompson.lua"));
  Request request = policy.start(problem.context());
  std::vector<Setting> measured;
  for (int i = 0; i < measurements && request.what == Request::What::remeasure; ++i) {
    measured.push_back(request.setting);
    Observation answer = world.truth(request.setting);
    if (!answer.within(cap_mw)) answer = cut_short(request.setting, Outcome::over_limit);
    answer.limit_mw = cap_mw;
    request = policy.resume(answer);
  }
  EXPECT_EQ(policy.failure(), "");
  return measured;
}

double best_of(const ProfileWorld& world, const PolicyProblem& problem, std::int64_t cap_mw,
               const std::vector<Setting>& measured) {
  double least = INFINITY;
  for (const Setting& one : measured) least = std::min(least, excess(world, problem, cap_mw, one));
  return least;
}

TEST(UnmodelledBoard, ThompsonFindsTheScaleOfItsPower) {
  const OrinProblem problem;
  for (const double scale : {0.05, 30.0}) {
    const ProfileWorld world = scaled_world(problem, scale);
    const auto cap_mw = static_cast<std::int64_t>(25'000 * scale);
    EXPECT_LT(best_of(world, problem, cap_mw, thompson(world, problem, cap_mw, 20)), 0.5) << scale;
  }
}

// A board that takes a third of its settings, and says so at once.
TEST(UnmodelledBoard, ARefusedSettingIsNoReasonToGiveUp) {
  const OrinProblem problem;
  for (const double cap_w : {18.0, 22.0, 27.0, 33.0}) {
    ProfileWorld world(problem, [&](const Setting& setting) {
      const ModelMode mode = model_mode(problem.knobs, setting.mode, unmodelled_orin().highest);
      std::int64_t sum = 0;
      for (const std::int64_t value : setting.mode.values) sum += value / 4;
      return sum % 3 == 0 ? OrinProblem::cost(unmodelled_orin(), mode, 16) : TrueCost{};
    });
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"), unmodelled_orin());
    const auto cap_mw = static_cast<std::int64_t>(1e3 * cap_w);
    const SearchOutcome outcome = world.run(policy, cap_mw);
    ASSERT_TRUE(outcome.held) << cap_w << outcome.failure;
    EXPECT_LT(excess(world, problem, cap_mw, outcome.setting), 0.3) << cap_w;
  }
}

// All 15,312 modes. Power rises with the sum of the positions of their knobs.
OrinProblem with_modes() {
  OrinProblem problem;
  const auto set = [&problem](std::size_t knob, std::int64_t first, std::int64_t last,
                              std::int64_t step) {
    problem.knobs.knobs[knob].values.clear();
    for (std::int64_t value = first; value < last; value += step) {
      problem.knobs.knobs[knob].values.push_back(value);
    }
    problem.knobs.knobs[knob].values.push_back(last);
  };
  set(0, 1, 12, 1);
  set(1, 115'200, 2'201'600, 76'800);
  set(2, 306'000, 1'300'500, 102'000);
  problem.knobs.knobs[3].values = {204'000, 665'600, 2'133'000, 3'199'000};
  const SettingGrid grid(problem.context(), highest_mode(nullptr));
  std::vector<std::pair<std::int64_t, PowerMode>> ranked;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    std::int64_t rank = 0;
    for (std::size_t d = 0; d < 4; ++d) {
      const std::vector<std::int64_t>& values = problem.knobs.knobs[d].values;
      rank += 100 * grid.setting(i).mode.values[d] / values.back();
    }
    ranked.emplace_back(rank, grid.setting(i).mode);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  for (const auto& [rank, mode] : ranked) problem.modes.push_back(mode);
  return problem;
}

// One knob of four, which takes no value but its lowest, says nothing of the cap.
TEST(UnmodelledBoard, AKnobThatIsStuckIsNotTakenForTheCap) {
  struct Case {
    const char* script;
    bool modelled;
    double most_excess;
  };
  const Case cases[] = {{"binary_search.lua", false, 0.3}, {"gradient.lua", false, 0.3},
                        {"linear.lua", false, 0.3},        {"linear_inverse.lua", false, 0.3},
                        {"roofline.lua", false, 0.3},      {"roofline.lua", true, 0.05}};
  const OrinProblem problem = with_modes();
  for (std::size_t knob = 0; knob < 4; ++knob) {
    const ProfileWorld stuck(problem, [&problem, knob](const Setting& setting) {
      if (setting.mode.values[knob] != problem.knobs.knobs[knob].values.front()) return TrueCost{};
      const ModelMode mode = model_mode(problem.knobs, setting.mode, unmodelled_orin().highest);
      return OrinProblem::cost(unmodelled_orin(), mode, 16);
    });
    for (const Case& one : cases) {
      ProfileWorld world = stuck;
      LuaPolicy policy(one.script, script_text(one.script),
                       one.modelled ? std::optional(unmodelled_orin()) : std::nullopt);
      const SearchOutcome outcome = world.run(policy, 30'000);
      const double came_to =
          outcome.held ? excess(world, problem, 30'000, outcome.setting) : INFINITY;
      EXPECT_LT(came_to, one.most_excess)
          << one.script << ", " << problem.knobs.knobs[knob].name << outcome.failure;
    }
  }
}

TEST(UnmodelledBoard, ABoardThatRefusesEverythingIsGivenUp) {
  const OrinProblem problem;
  ProfileWorld world(problem, [](const Setting&) { return TrueCost{}; });
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), unmodelled_orin());
  const SearchOutcome outcome = world.run(policy, 30'000);
  EXPECT_FALSE(outcome.held);
  EXPECT_LE(outcome.measurements, 35);
}

// What is believed without a board model after one row.
struct Beliefs {
  Beliefs(const PolicyProblem& problem, const CostRow& row)
      : grid(problem.context(), highest_mode(nullptr)),
        process(grid, cost_centre(problem.context(), nullptr, grid),
                cost_prior(problem.context(), nullptr, grid)),
        excluded(grid.size()) {
    process.learn(row);
    process.condition();
    excluded[row.setting] = 1;
  }
  std::optional<Probe> next(const ProbeTerms& terms) const {
    return next_probe(process, {Objective::time}, grid.kind(), excluded, terms);
  }

  SettingGrid grid;
  CostProcess process;
  std::vector<std::uint8_t> excluded;
};

struct LimitProblem : PolicyProblem {
  LimitProblem() {
    knobs.knobs = {{"power_limit_w",
                    Unit::mw,
                    KnobClass::power_limit,
                    {200'000, 300'000, 400'000, 500'000, 600'000, 700'000}},
                   {"gpu_mhz", Unit::khz, KnobClass::clock, {600'000, 1'200'000, 1'800'000}}};
    trainer.batch_size_count = 0;
  }
};

TEST(UnmodelledBoard, APowerLimitBelowTheCapIsBelievedToKeepIt) {
  Beliefs beliefs(LimitProblem(), {0, 400, 150, 0, 0, false});
  int below = 0;
  for (std::size_t i = 0; i < beliefs.grid.size(); ++i) {
    const std::int64_t limit_mw = beliefs.grid.setting(i).mode.values[0];
    std::fill(beliefs.excluded.begin(), beliefs.excluded.end(), std::uint8_t{1});
    beliefs.excluded[i] = 0;
    if (limit_mw > 300'000) continue;
    const auto probe = beliefs.next({.limit_w = 390, .safest_odds = 0});
    ASSERT_TRUE(probe);
    EXPECT_GT(probe->power_odds, 0.95) << limit_mw;
    ++below;
  }
  EXPECT_EQ(below, 6);
}

// A limit that is not reached changes nothing.
TEST(UnmodelledBoard, APowerLimitFarAboveWhatIsDrawnIsNotBelievedToCost) {
  const LimitProblem problem;
  const Beliefs beliefs(problem, {9, 400, 120, 0, 0, false});  // 500 W, the lowest clock
  const CostProcess::Mean lower = beliefs.process.mean(9);
  const CostProcess::Mean higher = beliefs.process.mean(15);
  EXPECT_NEAR(lower.log_time, higher.log_time, 0.02);
  EXPECT_NEAR(lower.log_power, higher.log_power, 0.02);
}

struct QuotaProblem : PolicyProblem {
  QuotaProblem() {
    knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4}},
                   {"cpu_quota_percent",
                    Unit::percent,
                    KnobClass::clock,
                    {10, 20, 30, 40, 50, 60, 70, 80, 90, 100}}};
    modes.clear();
    trainer.batch_size_count = 0;
  }
  // Of a machine that draws most of its power at rest.
  static TrueCost cost(const Setting& setting) {
    const auto cores = static_cast<double>(setting.mode.values[0]);
    const auto quota = static_cast<double>(setting.mode.values[1]);
    return {20'000 / (cores * quota), 8 + cores * quota / 80};
  }
};

// One step of an unknown knob is believed to be far over the cap on average, and may well not be.
TEST(UnmodelledBoard, WhatMayKeepTheCapIsLookedAtHoweverFarOverItIsOnAverage) {
  const Beliefs beliefs(QuotaProblem(), {0, 2000, 20, 0, 0, false});
  EXPECT_GT(beliefs.process.mean(1).log_power, std::log(21) + 0.155);
  const auto probe =
      beliefs.next({.best_log = std::log(2000 / 1e3 / 16), .limit_w = 21, .least_odds = 0.05});
  ASSERT_TRUE(probe);
  EXPECT_GE(probe->power_odds, 0.05);
  EXPECT_GT(probe->gain, 0.01);
}

TEST(UnmodelledBoard, ThompsonGrowsBolderWhereNothingIsSureToKeepTheCap) {
  const QuotaProblem problem;
  const ProfileWorld world(problem, QuotaProblem::cost);
  for (const std::int64_t cap_mw : {9'500, 11'000}) {
    const std::vector<Setting> measured = thompson(world, problem, cap_mw, 30);
    EXPECT_LT(best_of(world, problem, cap_mw, measured), 2) << cap_mw << ", from 10 or so";
    int over = 0;
    for (const Setting& one : measured) over += world.truth(one).power_mean_mw > cap_mw ? 1 : 0;
    EXPECT_LE(over, 8) << cap_mw << ", of 30";
  }
}

}  // namespace
}  // namespace gearshift
