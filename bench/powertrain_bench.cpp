// What PowerTrain costs: a reference trained on a whole board, a transfer, every mode predicted.
// Rows are made up, as many as were published.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "policies/powertrain/network_module.h"

namespace gearshift {
namespace {

constexpr std::size_t kColumns = 4;

struct Rows {
  std::vector<float> inputs;
  std::vector<float> targets;
};

Rows rows_of(std::size_t count) {
  std::mt19937_64 engine(1);
  Rows rows;
  for (std::size_t row = 0; row < count; ++row) {
    float target = 2;
    for (std::size_t i = 0; i < kColumns; ++i) {
      rows.inputs.push_back(static_cast<float>(engine() % 1000) / 300 - 1.67F);
      target += 0.2F * rows.inputs.back() * rows.inputs.back();
    }
    rows.targets.push_back(target);
  }
  return rows;
}

GearshiftTraining training_of(const Rows& rows) {
  GearshiftTraining training{};
  training.inputs = rows.inputs.data();
  training.targets = rows.targets.data();
  training.rows = rows.targets.size();
  training.columns = kColumns;
  training.validation_rows = rows.targets.size() / 10;
  training.target_mean = 2;
  training.target_deviation = 1;
  training.epochs = 100;
  training.head_epochs = 100;
  training.batch_rows = 32;
  training.learning_rate = 1e-3;
  training.dropout = 0.1;
  training.seed = 1;
  return training;
}

void train_a_reference(benchmark::State& state) {
  const NetworkModule module;
  const Rows rows = rows_of(4368);
  std::vector<float> weights;
  for (auto _ : state) module.train(training_of(rows), weights);
}
BENCHMARK(train_a_reference)->Iterations(1)->Unit(benchmark::kMillisecond);

void transfer_50_modes(benchmark::State& state) {
  const NetworkModule module;
  const Rows rows = rows_of(50);
  std::vector<float> weights(network_weight_count(kColumns), 0.01F);
  GearshiftTraining training = training_of(rows);
  training.transfer = 1;
  for (auto _ : state) module.train(training, weights);
}
BENCHMARK(transfer_50_modes)->Unit(benchmark::kMillisecond);

void predict_29232_modes(benchmark::State& state) {
  const NetworkModule module;
  const Rows rows = rows_of(29'232);
  const std::vector<float> weights(network_weight_count(kColumns), 0.01F);
  for (auto _ : state) {
    benchmark::DoNotOptimize(module.predict(weights, rows.inputs, kColumns));
  }
}
BENCHMARK(predict_29232_modes)->Unit(benchmark::kMillisecond);

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
