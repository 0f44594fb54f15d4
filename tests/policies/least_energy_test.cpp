// Searches for the least energy on boards that no model describes, where the slowest setting and
// the fastest take more than one between them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/profile_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

struct TwoClocks : PolicyProblem {
  TwoClocks(std::int64_t cpu_steps, std::int64_t gpu_steps) {
    knobs.knobs = {{"cpu_mhz", Unit::khz, KnobClass::clock, {}},
                   {"gpu_mhz", Unit::khz, KnobClass::clock, {}}};
    for (std::int64_t i = 1; i <= cpu_steps; ++i) {
      knobs.knobs[0].values.push_back(1'200'000 * i / cpu_steps);
    }
    for (std::int64_t i = 1; i <= gpu_steps; ++i) {
      knobs.knobs[1].values.push_back(1'200'000 * i / gpu_steps);
    }
    modes.clear();
    for (const std::int64_t gpu : knobs.knobs[1].values) {
      for (const std::int64_t cpu : knobs.knobs[0].values) modes.push_back({{cpu, gpu}, 2});
    }
    trainer.batch_size_count = 0;
    goal = {Objective::energy, 60'000};
  }
  // Voltage rises with clocks, and power with its square.
  static TrueCost cost(const Setting& setting) {
    const double cpu = static_cast<double>(setting.mode.values[0]) / 1e6;
    const double gpu = static_cast<double>(setting.mode.values[1]) / 1e6;
    return {4 / cpu + 20 / gpu, 1 + 0.3 * std::pow(cpu, 3) + 20 * std::pow(gpu, 3)};
  }
};

double excess(const ProfileWorld& world, const TwoClocks& problem, const Setting& setting) {
  double least = std::numeric_limits<double>::infinity();
  for (const PowerMode& mode : problem.modes) {
    const Observation truth = world.truth({mode, {16, 0}, Run::train});
    least = std::min(least, truth.value(problem.goal));
  }
  return world.truth(setting).value(problem.goal) / least - 1;
}

void expect_near_least(const std::string& script, const TwoClocks& problem, double most_excess,
                       int most_measurements) {
  ProfileWorld world(problem, &TwoClocks::cost);
  LuaPolicy policy(script, script_text(script));
  const SearchOutcome outcome = world.run(policy);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_LT(excess(world, problem, outcome.setting), most_excess);
  EXPECT_LE(outcome.measurements, most_measurements);
}

TEST(LeastEnergy, RooflineWithoutAModelStaysBelowTheFastestMode) {
  expect_near_least("roofline.lua", TwoClocks(1, 17), 0.02, 10);
}

TEST(LeastEnergy, BinarySearchLooksAroundTheBestBeforeItEnds) {
  expect_near_least("binary_search.lua", TwoClocks(3, 3), 0.001, 9);
}

}  // namespace
}  // namespace gearshift
