// The baseline scripts as they ship.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"
#include "tests/policies/profile_problem.h"

namespace gearshift {
namespace {

using What = Request::What;

std::string script_text(const std::string& name) {
  std::ifstream file(std::string(GEARSHIFT_SOURCE_DIR) + "/scripts/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(MaxnScript, HoldsTheHighestModeWhateverTheCap) {
  PolicyProblem problem;
  problem.goal.power_mw = 1;
  const Request request = LuaPolicy("maxn.lua", script_text("maxn.lua")).start(problem.context());
  ASSERT_EQ(request.what, What::hold);
  EXPECT_EQ(request.setting.mode, problem.knobs.highest());
  EXPECT_EQ(request.setting.batch_size[0], 16);
}

TEST(FixedScript, HoldsTheMiddleWhereNothingIsWritten) {
  const PolicyProblem problem;
  const Request request = LuaPolicy("fixed.lua", script_text("fixed.lua")).start(problem.context());
  ASSERT_EQ(request.what, What::hold);
  EXPECT_EQ(request.setting, (Setting{{{4, 624'750}, 2}, {16, 0}, Run::train}));
}

TEST(FixedScript, HoldsWhatIsWrittenOrTheNextValueBelow) {
  std::string text = script_text("fixed.lua");
  const std::string open = "local wanted = {";
  text.insert(text.find(open) + open.size(), "cpu_cores = 7, gpu_mhz = 1300.5, train_batch = 64,");
  const PolicyProblem problem;
  LuaPolicy policy("fixed.lua", text);
  const Request request = policy.start(problem.context());
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting, (Setting{{{4, 1'300'500}, 2}, {64, 0}, Run::train}));
}

TEST(BinarySearchScript, SaysWhenNothingKeepsTheCap) {
  const PolicyProblem problem;
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  Request request = policy.start(problem.context());
  int measurements = 0;
  while (request.what == What::measure && measurements < 100) {
    ++measurements;
    request = policy.resume(cut_short(request.setting, Outcome::over_limit));
  }
  EXPECT_EQ(request.what, What::hold_safe) << policy.failure();
  EXPECT_EQ(policy.take_log(), "nothing measured keeps the goal");
}

// Whatever goes wrong with every second measurement, the search ends and holds a measured setting.
TEST(BinarySearchScript, CopesWithMeasurementsThatFail) {
  const PolicyProblem problem;
  for (const Outcome outcome : {Outcome::refused, Outcome::timed_out, Outcome::power_unknown}) {
    LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
    Request request = policy.start(problem.context());
    int measurements = 0;
    while (request.what == What::measure && measurements < 100) {
      const double gpu = static_cast<double>(request.setting.mode.values[1]);
      request = policy.resume(++measurements % 2 == 0 ? cut_short(request.setting, outcome)
                                                      : complete(request.setting, 1e7 / gpu, 20));
    }
    EXPECT_EQ(request.what, What::hold) << policy.failure();
  }
}

TEST(BinarySearchScript, NeedsNoCap) {
  PolicyProblem problem;
  problem.goal.power_mw = std::nullopt;
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  Request request = policy.start(problem.context());
  for (int i = 0; i < 100 && request.what == What::measure; ++i) {
    const double gpu = static_cast<double>(request.setting.mode.values[1]);
    request = policy.resume(complete(request.setting, 1e7 / gpu, gpu / 2e4));
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting.mode.values[1], 1'300'500);
}

// Without a cap nothing prunes the settings that the search thinks about.
TEST(BinarySearchScript, KeepsItsInstructionsOnLargeBoards) {
  PolicyProblem problem;
  problem.modes.clear();
  problem.knobs.knobs.clear();
  for (const char* name : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz", "more_mhz"}) {
    problem.knobs.knobs.push_back({name, Unit::khz, KnobClass::clock, {}});
    for (std::int64_t i = 1; i <= 40; ++i) problem.knobs.knobs.back().values.push_back(i * 50'000);
  }
  ProfileWorld world(problem, [](const Setting& setting) {
    double minibatch_ms = setting.batch_size[0];
    for (int i = 0; i < 5; ++i) {
      minibatch_ms += 1e6 / static_cast<double>(setting.mode.values[static_cast<std::size_t>(i)]);
    }
    return TrueCost{minibatch_ms, 20};
  });
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  const SearchOutcome outcome = world.run(policy, 1'000'000'000);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode, problem.knobs.highest());
  EXPECT_EQ(outcome.setting.batch_size[0], 64);
}

}  // namespace
}  // namespace gearshift
