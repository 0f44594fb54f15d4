// What PowerTrain costs: a reference trained on a whole board, a transfer, every mode predicted.
// Each counts both networks, time and power. The profiles are the board model's.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "boards/modelled_profile.h"
#include "policies/powertrain/reference.h"
#include "policies/powertrain/training.h"

namespace gearshift {
namespace {

Profile profile_of(const std::string& board_id, const std::string& workload) {
  const BoardDescription& board = *find_board(board_id, built_in_boards());
  const Predictor reference = shipped_reference();
  const bool is_orin = board_id == reference.device;
  return modelled_profile(board, is_orin ? reference.knobs : board.knob_space(), workload,
                          board.find_workload(workload, Kind::train)->second, {{16}});
}

void train_a_reference(benchmark::State& state) {
  const NetworkModule module;
  const Profile profile = profile_of("jetson-agx-orin-jetpack5", "resnet18");
  const std::vector<std::size_t> cells = timed_cells(profile);
  for (auto _ : state) train_predictor(module, profile, cells, {});
  state.counters["settings"] = static_cast<double>(cells.size());
}
BENCHMARK(train_a_reference)->Iterations(1)->Unit(benchmark::kMillisecond);

void transfer_50_modes(benchmark::State& state) {
  const NetworkModule module;
  const Predictor reference = shipped_reference();
  const Profile profile = profile_of("jetson-agx-orin-jetpack5", "mobilenet_v3");
  const std::vector<std::size_t> cells = draw_cells(timed_cells(profile), 50, 1);
  for (auto _ : state) transfer_predictor(module, reference, profile, cells, {});
}
BENCHMARK(transfer_50_modes)->Unit(benchmark::kMillisecond);

void predict_every_mode_of_an_agx_xavier(benchmark::State& state) {
  const NetworkModule module;
  const Predictor reference = shipped_reference();
  const KnobSpace knobs = find_board("jetson-agx-xavier", built_in_boards())->knob_space();
  const Profile profile = profile_of("jetson-agx-xavier", "resnet18");
  std::vector<PredictedSetting> settings;
  for (const ProfileCell& cell : profile.cells()) {
    settings.push_back({cell.mode, cell.batch_size});
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(predict(module, reference, knobs, settings));
  }
  state.counters["settings"] = static_cast<double>(settings.size());
}
BENCHMARK(predict_every_mode_of_an_agx_xavier)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gearshift

int main(int argc, char** argv) {
  try {
    const gearshift::NetworkModule module;
  } catch (const gearshift::NetworkError& error) {
    std::fprintf(stderr, "powertrain_bench: skipped: %s\n", error.what());
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
