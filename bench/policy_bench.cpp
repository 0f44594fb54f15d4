// What a policy costs the loop: one answer and the next question, and a script started from the
// top.
#include <benchmark/benchmark.h>

#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

void resume_to_the_next_question(benchmark::State& state) {
  const PolicyProblem problem;
  LuaPolicy policy("loop.lua", "while true do remeasure(safe) end");
  const Request request = policy.start(problem.context());
  const Observation answer = complete(request.setting, 40, 25);
  for (auto _ : state) benchmark::DoNotOptimize(policy.resume(answer));
  if (!policy.failure().empty()) state.SkipWithError(std::string(policy.failure()).c_str());
}
BENCHMARK(resume_to_the_next_question);

void start_a_fresh_script(benchmark::State& state) {
  const PolicyProblem problem;
  LuaPolicy policy("start.lua", "remeasure(safe)");
  for (auto _ : state) benchmark::DoNotOptimize(policy.start(problem.context()));
}
BENCHMARK(start_a_fresh_script)->Unit(benchmark::kMicrosecond);

// The worst a hostile script can make the loop wait.
void end_a_script_that_loops(benchmark::State& state) {
  const PolicyProblem problem;
  LuaPolicy policy("hostile.lua", "while true do end");
  for (auto _ : state) benchmark::DoNotOptimize(policy.start(problem.context()));
}
BENCHMARK(end_a_script_that_loops)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
