// ogd.lua on a GPU with clocks and a power limit, which bound the same power: the cost has a valley
// between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/random_draw.h"
#include "tests/policies/profile_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

struct ClockedGpu : PolicyProblem {
  ClockedGpu() {
    knobs.knobs = {{"gpu_mhz", Unit::khz, KnobClass::clock, {}},
                   {"power_limit_w", Unit::mw, KnobClass::power_limit, {}}};
    for (std::int64_t mhz = 800; mhz <= 1'600; mhz += 200) {
      knobs.knobs[0].values.push_back(1'000 * mhz);
    }
    for (std::int64_t limit_w = 100; limit_w <= 300; limit_w += 20) {
      knobs.knobs[1].values.push_back(1'000 * limit_w);
    }
    modes.clear();
    for (const std::int64_t khz : knobs.knobs[0].values) {
      for (const std::int64_t limit_mw : knobs.knobs[1].values)
        modes.push_back({{khz, limit_mw}, 2});
    }
    trainer.batch_size_count = 0;
    goal = {Objective::energy, std::nullopt};
  }

  // Time rises slowly where the limit binds, so the highest clock under the lowest limit is the
  // best for energy, and on the way there all is dearer. As in measured tables, neighbours differ a
  // little, or what looks around would wander far along where a limit does not bind.
  static TrueCost cost(const Setting& setting) {
    const double clock = static_cast<double>(setting.mode.values[0]) / 1.6e6;
    const double limit_w = static_cast<double>(setting.mode.values[1]) / 1e3;
    const double wanted_w = 60 + 200 * std::pow(clock, 2.2);
    const double share = std::min(1.0, (limit_w - 50) / (wanted_w - 50));
    std::mt19937_64 random(
        static_cast<std::uint64_t>(setting.mode.values[0] + 7 * setting.mode.values[1]));
    const double ripple = std::exp(0.01 * draw_normal(random));
    return {10 / clock / std::pow(share, 0.45) * ripple, std::min(limit_w, wanted_w)};
  }
};

// Mean excess over the optimum behind the hundredth of so many measurements.
double late_regret(ProfileWorld& world, std::uint64_t seed) {
  const Goal& goal = world.problem().goal;
  double least = INFINITY;
  for (const PowerMode& mode : world.problem().modes) {
    const Observation truth = world.truth({mode, {world.problem().trainer.batch_size}, Run::train});
    if (truth.within(goal.power_mw.value_or(0))) least = std::min(least, truth.value(goal));
  }
  EXPECT_TRUE(std::isfinite(least));
  world.problem().seed = seed;
  LuaPolicy policy("ogd.lua", script_text("ogd.lua"));
  std::mt19937_64 random(seed);
  double regret = 0;
  Request request = policy.start(world.problem().context());
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(request.what, Request::What::remeasure) << policy.failure();
    Observation answer = world.truth(request.setting);
    if (i >= 100) regret += std::max(0.0, answer.value(goal) / least - 1) / 200;
    Duration& mean = answer.cost[0].minibatch_mean;
    mean = Duration(
        std::llround(static_cast<double>(mean.count()) * std::exp(0.01 * draw_normal(random))));
    if (!answer.within(goal.power_mw.value_or(0))) {
      answer = cut_short(request.setting, Outcome::over_limit);
      answer.limit_mw = *goal.power_mw;
    }
    request = policy.resume(answer);
  }
  return regret;
}

TEST(PowerLimitDescent, ComesToTheHighestClockUnderALowLimit) {
  for (const bool capped : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 9; ++seed) {
      ClockedGpu problem;
      if (capped) problem.goal.power_mw = 190'000;
      ProfileWorld world(problem, &ClockedGpu::cost);
      EXPECT_LT(late_regret(world, seed), 0.01) << seed << (capped ? ", 190 W" : ", no cap");
    }
  }
}

}  // namespace
}  // namespace gearshift
