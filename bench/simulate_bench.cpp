// Speed of the simulator: minibatches a second through the unchanged controller while a Lua policy
// holds a setting, beside a bare loop over the same table and jitter; and the time of whole
// searches.
#include <benchmark/benchmark.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "boards/board_description.h"
#include "limits/operator_limit.h"
#include "policies/lua/lua_policy.h"
#include "simulator/noise.h"
#include "simulator/simulation.h"

namespace gearshift {
namespace {

constexpr std::int32_t kBatchSize = 16;
constexpr double kJitter = 0.03;

const BoardDescription& orin() {
  for (const BoardDescription& board : built_in_boards()) {
    if (board.id == "jetson-agx-orin") return board;
  }
  std::abort();
}

// 441 modes of AGX Orin by its model, every minibatch made `scale` times as long.
Profile sub_grid(double scale) {
  const BoardDescription& board = orin();
  KnobSpace space = board.knob_space();
  const std::size_t counts[] = {3, 7, 7, 3};
  for (std::size_t i = 0; i < space.size(); ++i) {
    std::vector<std::int64_t> kept;
    const std::vector<std::int64_t>& values = space.knobs[i].values;
    for (std::size_t k = 1; k <= counts[i]; ++k)
      kept.push_back(values[k * values.size() / counts[i] - 1]);
    space.knobs[i].values = kept;
  }
  const ModelCosts model(board, space, board.workloads.at("resnet18"));
  Profile profile(space);
  profile.workload = "resnet18";
  for (const PowerMode& mode : unmeasured_order(space)) {
    const TrueCost cost = *model.cost(mode, kBatchSize);
    profile.add({mode, kBatchSize, scale * cost.minibatch_ms, cost.power_w, {}});
  }
  return profile;
}

SimulationProblem problem_of(const Profile& profile, const CostSource& costs) {
  SimulationProblem problem;
  problem.board = "bench";
  problem.knobs = profile.knobs();
  problem.tasks = {{.name = "resnet18",
                    .kind = Kind::train,
                    .batch_sizes = {kBatchSize},
                    .batch_size = kBatchSize,
                    .costs = &costs}};
  return problem;
}

// Counts what the controller consumes.
class CountingRecorder : public Recorder {
 public:
  void tick(const TickInputs& inputs) override {
    events += static_cast<std::int64_t>(inputs.events.size());
    ++ticks;
  }
  void note(const Note&) override {}
  void status(const Status&) override {}
  std::int64_t events = 0;
  std::int64_t ticks = 0;
};

constexpr const char* kHoldHighest =
    "local top = {}\n"
    "for _, name in ipairs(knobs.names) do top[name] = knobs[name][#knobs[name]] end\n"
    "return top";

// A setting is held for 100,000 ticks of 100 ms, or less where a tick ends early because it is
// full; its minibatches take state.range(0) microseconds.
void held(benchmark::State& state) {
  const Profile unscaled = sub_grid(1);
  const double highest_ms = unscaled.find(unscaled.knobs().highest(), kBatchSize)->minibatch_ms;
  const double minibatch_ms = static_cast<double>(state.range(0)) / 1000;
  const Profile profile = sub_grid(minibatch_ms / highest_ms);
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = problem_of(profile, costs);
  problem.effects.jitter = problem.effects.highest_jitter = kJitter;
  problem.hold = std::chrono::seconds(1000);
  std::int64_t minibatches = 0;
  std::int64_t ticks = 0;
  for (auto _ : state) {
    LuaPolicy policy("hold.lua", kHoldHighest);
    OperatorLimit limit(std::nullopt);
    CountingRecorder recorder;
    simulate(problem, policy, limit, {.recorder = &recorder});
    minibatches += recorder.events;
    ticks += recorder.ticks;
  }
  state.SetItemsProcessed(minibatches);
  state.counters["minibatches_a_tick"] =
      static_cast<double>(minibatches) / static_cast<double>(ticks);
}
BENCHMARK(held)->Arg(400)->Arg(2'000)->Arg(10'000)->Arg(40'000)->Unit(benchmark::kMillisecond);

// What there is to beat: no controller, no events, only the table and the jitter.
void bare_loop(benchmark::State& state) {
  const Profile profile = sub_grid(1);
  const PowerMode mode = profile.knobs().highest();
  const double sigma = std::sqrt(std::log(1 + kJitter * kJitter));
  constexpr std::int64_t kMinibatches = 1'000'000;
  for (auto _ : state) {
    double elapsed_ms = 0;
    double energy_j = 0;
    for (std::int64_t i = 0; i < kMinibatches; ++i) {
      const ProfileCell& cell = *profile.find(mode, kBatchSize);
      const double normal = normal_noise(1, Stream::jitter, static_cast<std::uint64_t>(i));
      const double minibatch_ms = cell.minibatch_ms * std::exp(sigma * normal - sigma * sigma / 2);
      elapsed_ms += minibatch_ms;
      energy_j += cell.power_w * minibatch_ms / 1000;
    }
    benchmark::DoNotOptimize(elapsed_ms);
    benchmark::DoNotOptimize(energy_j);
  }
  state.SetItemsProcessed(state.iterations() * kMinibatches);
}
BENCHMARK(bare_loop)->Unit(benchmark::kMillisecond);

std::string shipped_script(const std::string& name) {
  std::ifstream file(std::string(GEARSHIFT_SOURCE_DIR) + "/scripts/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// One search of 441 modes, from the first tick to the held choice, under caps of 15 to 50 W.
void train_problem(benchmark::State& state) {
  const Profile profile = sub_grid(1);
  const ProfileCosts costs(profile, Missing::refuse);
  SimulationProblem problem = problem_of(profile, costs);
  problem.effects = parse_effects(state.range(0) == 0 ? "none" : "all");
  const std::string script = shipped_script("binary_search.lua");
  std::int64_t cap_w = 15;
  double virtual_s = 0;
  for (auto _ : state) {
    cap_w = cap_w == 50 ? 15 : cap_w + 1;
    problem.goal.power_mw = 1000 * cap_w;
    LuaPolicy policy("binary_search.lua", script);
    OperatorLimit limit(problem.goal.power_mw);
    virtual_s += seconds(simulate(problem, policy, limit).duration);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["virtual_s"] = virtual_s / static_cast<double>(state.iterations());
}
BENCHMARK(train_problem)->ArgName("effects")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
