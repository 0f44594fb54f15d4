#include "policies/lua/lua_policy.h"

#include <gtest/gtest.h>

#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using What = Request::What;

TEST(LuaPolicy, MeasuresAndHoldsWhatTheScriptReturns) {
  const PolicyProblem problem;
  LuaPolicy policy("search.lua", R"(
    local seen = measure{cpu_cores = 8, gpu_mhz = 624.75, train_batch = 32}
    log("took " .. seen.minibatch_ms .. " ms")
    if seen.within then return seen.setting end
  )");
  const Request question = policy.start(problem.context());
  ASSERT_EQ(question.what, What::measure) << policy.failure();
  EXPECT_EQ(question.setting.mode.values[1], 624'750);
  EXPECT_EQ(question.setting.batch_size[0], 32);
  EXPECT_EQ(question.setting.run, Run::train);
  const Request choice = policy.resume(complete(question.setting, 40, 25));
  ASSERT_EQ(choice.what, What::hold) << policy.failure();
  EXPECT_EQ(choice.setting, question.setting);
  EXPECT_EQ(policy.take_log(), "took 40.0 ms");
  EXPECT_EQ(policy.take_log(), "");
}

}  // namespace
}  // namespace gearshift
