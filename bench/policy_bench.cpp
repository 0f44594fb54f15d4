// What a policy costs the loop: one answer and the next question, a script started from the top,
// and whole searches of the shipped scripts, from the first question to the choice.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>
#include <string>

#include "policies/lua/lua_policy.h"
#include "tests/policies/measured_problem.h"

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

// Serving requests within 25 W and 120 ms on 441 modes and five batch sizes: one problem of a grid.
void solve_a_serving_problem(benchmark::State& state, const std::string& script) {
  std::ifstream file(std::string(GEARSHIFT_SOURCE_DIR) + "/scripts/" + script);
  std::stringstream text;
  text << file.rdbuf();
  PolicyProblem problem;
  problem.knobs = MeasuredTable::sub_grid();
  problem.modes.clear();
  problem.trainer.kind = Kind::infer;
  problem.trainer.batch_sizes = {1, 4, 16, 32, 64};
  problem.trainer.batch_size_count = 5;
  problem.goal = {Objective::latency, 25'000, Duration(120'000'000), 60};
  LuaPolicy policy(script, text.str());
  int measurements = 0;
  for (auto _ : state) {
    ProfileWorld world(problem, [](const Setting& setting) {
      const auto& mode = setting.mode.values;
      TrueCost cost{2, 9};
      for (std::size_t i = 0; i < 4; ++i) {
        const double share = static_cast<double>(mode[i]) / (i == 0 ? 12.0 : 3e6);
        cost.minibatch_ms += (1 + 0.3 * setting.batch_size[index(Kind::infer)]) / share;
        cost.power_w += 8 * share;
      }
      return cost;
    });
    const SearchOutcome outcome = world.run(policy);
    measurements = outcome.measurements;
    if (!outcome.failure.empty()) state.SkipWithError(outcome.failure.c_str());
    while (!policy.take_log().empty()) {
    }
  }
  state.counters["measurements"] = measurements;
}
BENCHMARK_CAPTURE(solve_a_serving_problem, binary_search, "binary_search.lua")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, gradient, "gradient.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, linear, "linear.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, random, "random.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, full_sweep, "full_sweep.lua")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
