// What a policy costs the loop: one answer and the next question, a script started from the top,
// and whole searches of the shipped scripts, from the first question to the choice.
#include <benchmark/benchmark.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/next_probe.h"
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
BENCHMARK_CAPTURE(solve_a_serving_problem, bayes, "bayes.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, binary_search, "binary_search.lua")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, gradient, "gradient.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, linear, "linear.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, random, "random.lua")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(solve_a_serving_problem, full_sweep, "full_sweep.lua")
    ->Unit(benchmark::kMillisecond);

// One decision at 15 observations on the 4,368 modes that were measured of an AGX Orin:
// bayes.lua's, or thompson.lua's, which draws a world.
void decide_by_gaussian_process(benchmark::State& state, bool draws) {
  const BoardModel board = *built_in_board_model("jetson-agx-orin");
  PolicyProblem problem;
  problem.modes.clear();
  problem.trainer.batch_size_count = 0;
  problem.knobs.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {2, 4, 6, 8, 10, 12}},
                         {"cpu_mhz", Unit::khz, KnobClass::clock, {}},
                         {"gpu_mhz", Unit::khz, KnobClass::clock, {}},
                         {"mem_mhz", Unit::khz, KnobClass::memory, {}}};
  const auto fill = [&](std::size_t knob, std::int64_t count, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = 0; i < count; ++i) {
      problem.knobs.knobs[knob].values.push_back(from + i * (to - from) / (count - 1));
    }
  };
  fill(1, 14, 268'800, 2'201'600);
  fill(2, 13, 114'750, 1'300'500);
  fill(3, 4, 204'000, 3'199'000);
  const SettingGrid grid(problem.context(), board.highest);
  const CostCentre centre = cost_centre(problem.context(), &board, grid);
  const CostPrior prior = cost_prior(problem.context(), &board, grid);
  CostProcess process(grid, centre, prior);
  const Demand demand{.A = 70, .B = 90, .L = 60, .P = 120, .O = 8, .workers = 4, .kg = 9};
  std::vector<std::uint8_t> known(grid.size());
  for (std::size_t i = 0; i < 15; ++i) {
    const std::size_t setting = (i * 2'654'435'761U) % grid.size();
    const MinibatchCost cost = minibatch_cost(centre.device, demand, grid.mode(setting));
    known[setting] = 1;
    if (cost.power_w <= 30) {
      process.learn({setting, cost.minibatch_ms, cost.power_w, 0, 0, false});
    } else {
      process.learn({setting, 0, 30, 0, 0, true});
    }
  }
  const ProbeTerms terms{.best_log = std::log(5e-3), .limit_w = 30, .price = 0.02};
  const DrawTerms draw_terms{.limit_w = 30, .most_over_odds = 0.1};
  const Goal goal{Objective::time, 30'000};
  std::mt19937_64 random(1);
  for (auto _ : state) {
    process.condition();
    if (draws) {
      benchmark::DoNotOptimize(
          drawn_setting(process, goal, Kind::train, known, draw_terms, random));
    } else {
      benchmark::DoNotOptimize(next_probe(process, goal, Kind::train, known, terms));
    }
  }
}
BENCHMARK_CAPTURE(decide_by_gaussian_process, bayes, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decide_by_gaussian_process, thompson, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
