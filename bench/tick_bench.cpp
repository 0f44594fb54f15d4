// Cost of one control tick: the whole loop with fakes for board and world, and a real Lua policy.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "policies/lua/lua_policy.h"
#include "tests/fakes/fake_board.h"
#include "trace/recorded_inputs.h"
#include "trace/recording_writer.h"

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

// A folder for a recording, gone with the object.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "gearshift-bench-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error(pattern + ": cannot be made");
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

ControllerOptions bench_options() {
  ControllerOptions options;
  options.most_measurements = 1'000'000'000;
  return options;
}

void run_ticks(benchmark::State& state, const char* script, int minibatches) {
  fakes::Hardware hardware;
  Board board = fakes::fake_board(hardware);
  BenchWorld world(state, minibatches);
  LuaPolicy policy("bench.lua", script);
  NullRecorder recorder;
  Controller(world, board, policy, recorder, {}, bench_options()).run();
}

// The same, recorded into a file. Ticks come a thousand times faster than in a run, so the loop
// waits for the writer now and then; that wait takes no processor time, which is what is looked at.
void record_ticks(benchmark::State& state, const char* script, int minibatches) {
  const Folder folder;
  fakes::Hardware hardware;
  RecordingHeader header;
  header.knobs = hardware.space;
  header.traits = fakes::fake_traits();
  header.policy = {"bench.lua", script};
  RecordingWriter writer(folder.path() / "run.db", header,
                         {.queue_bytes = std::size_t{64} << 20, .when_full = WhenFull::wait});
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<fakes::FakeSensor>(hardware));
  Board board(recorded(std::make_unique<fakes::FakeActuator>(hardware), writer),
              recorded(std::move(sensors), writer), fakes::fake_traits());
  BenchWorld world(state, minibatches);
  RecordedWorld recorded_world(world, writer);
  LuaPolicy policy("bench.lua", script);
  Controller(recorded_world, board, policy, writer, {}, bench_options()).run();
  writer.finish();
  if (writer.failed()) state.SkipWithError(writer.failure().c_str());
}

constexpr const char* kHold = "return {cpu_cores = 4, gpu_mhz = 900}";
constexpr const char* kMeasure =
    "local i = 0\n"
    "while true do\n"
    "  i = i % 3 + 1\n"
    "  remeasure({cpu_cores = 4, gpu_mhz = knobs.gpu_mhz[i]})\n"
    "end";

// A setting is held: what the daemon does nearly all the time.
void BM_TickHolding(benchmark::State& state) {
  run_ticks(state, kHold, static_cast<int>(state.range(0)));
}

// A policy that never stops measuring: settle, collect, answer, resume, apply.
void BM_TickMeasuring(benchmark::State& state) {
  run_ticks(state, kMeasure, static_cast<int>(state.range(0)));
}

void BM_RecordedTickHolding(benchmark::State& state) {
  record_ticks(state, kHold, static_cast<int>(state.range(0)));
}

void BM_RecordedTickMeasuring(benchmark::State& state) {
  record_ticks(state, kMeasure, static_cast<int>(state.range(0)));
}

constexpr int kRecordedTicks = 100'000;  // of the order of 100 MB

BENCHMARK(BM_TickHolding)->Arg(1)->Arg(10)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_TickMeasuring)->Arg(1)->Arg(10)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_RecordedTickHolding)
    ->Arg(1)
    ->Arg(10)
    ->Iterations(kRecordedTicks)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_RecordedTickMeasuring)
    ->Arg(1)
    ->Arg(10)
    ->Iterations(kRecordedTicks)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gearshift

BENCHMARK_MAIN();
