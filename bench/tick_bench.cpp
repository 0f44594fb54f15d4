// Cost of one control tick: the whole loop with fakes for board and world, and a real Lua policy.
#include <benchmark/benchmark.h>

#include "controller/controller.h"
#include "policies/lua/lua_policy.h"
#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

Event event_of(EventType type) {
  Event event;
  event.type = type;
  event.handle = 1;
  return event;
}

Event attached() {
  Event event = event_of(EventType::attached);
  event.workload.handle = 1;
  event.workload.managed = true;
  event.workload.batch_size = 16;
  event.workload.batch_sizes[0] = 16;
  event.workload.batch_size_count = 1;
  event.workload.name = BoundedText<64>("resnet18");
  return event;
}

// One benchmark iteration a tick: `minibatches` reports every 100 ms of virtual time.
class BenchWorld : public World {
 public:
  BenchWorld(benchmark::State& state, int minibatches) : state_(state), minibatches_(minibatches) {}

  Time wait_until(Time, EventBuffer& events) override {
    now_ += std::chrono::milliseconds(100);
    if (ticks_++ == 0) events.push_back(attached());
    for (int i = 0; i < minibatches_; ++i) {
      Event& event = events.emplace_back(event_of(EventType::minibatch));
      event.minibatch.workload = 1;
      event.minibatch.batch_size = 16;
      event.minibatch.elapsed = std::chrono::milliseconds(100) / minibatches_;
      event.minibatch.received = now_;
    }
    // The search and the first measurements are through before the clock runs.
    if (ticks_ > kWarmUpTicks && !state_.KeepRunning()) {
      events.push_back(event_of(EventType::stop));
    }
    return now_;
  }
  void command(WorkloadHandle, const WorkloadCommand&) override {}
  std::string_view script() override { return {}; }
  void publish(const Status&) override {}

 private:
  static constexpr int kWarmUpTicks = 3000;
  benchmark::State& state_;
  int minibatches_;
  int ticks_ = 0;
  Time now_{};
};

class NullRecorder : public Recorder {
 public:
  void tick(const TickInputs&) override {}
  void note(const Note&) override {}
  void status(const Status&) override {}
};

void run_ticks(benchmark::State& state, const char* script, int minibatches) {
  fakes::Hardware hardware;
  Board board = fakes::fake_board(hardware);
  BenchWorld world(state, minibatches);
  LuaPolicy policy("bench.lua", script);
  NullRecorder recorder;
  ControllerOptions options;
  options.most_measurements = 1'000'000'000;
  Controller(world, board, policy, recorder, {}, options).run();
}

// A setting is held: what the daemon does nearly all the time.
void BM_TickHolding(benchmark::State& state) {
  run_ticks(state, "return {cpu_cores = 4, gpu_mhz = 900}", static_cast<int>(state.range(0)));
}

// A policy that never stops measuring: settle, collect, answer, resume, apply.
void BM_TickMeasuring(benchmark::State& state) {
  run_ticks(state,
            "local i = 0\n"
            "while true do\n"
            "  i = i % 3 + 1\n"
            "  remeasure({cpu_cores = 4, gpu_mhz = knobs.gpu_mhz[i]})\n"
            "end",
            static_cast<int>(state.range(0)));
}

BENCHMARK(BM_TickHolding)->Arg(1)->Arg(10)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_TickMeasuring)->Arg(1)->Arg(10)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
