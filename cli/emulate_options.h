// What `gearshift emulate` is told, and the line at its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/clock.h"

namespace gearshift {

struct EmulateOptions {
  std::string workload;
  std::string sysroot;
  std::string endpoint;
  std::string kind = "train";
  std::int32_t batch_size = 16;
  std::vector<std::int32_t> batch_sizes = {8, 16, 32, 64};
  std::string duration;
  std::string jitter = "3%";
  std::string warm_up = "3.5s";
  std::string save_time;  // empty: it does not save its work
  std::int64_t samples_per_epoch = 50'000;
  std::uint32_t epochs = 0;  // to end after; 0: goes on until stopped
  std::uint64_t seed = 1;
  bool json = false;
  // Of a program that serves beside its training.
  std::string serve;
  std::int32_t serve_batch_size = 1;
  std::vector<std::int32_t> serve_batch_sizes = {1, 4, 16, 32, 64};
  std::string arrivals;
  std::string latency;
};

// What was done, for the line at the end.
struct EmulationSummary {
  std::int64_t minibatches = 0;
  std::int64_t samples = 0;
  double sum_ms = 0;
  double sum_squares_ms2 = 0;

  void add(Duration elapsed, std::int32_t batch_size) {
    const double ms = 1e3 * seconds(elapsed);
    ++minibatches;
    samples += batch_size;
    sum_ms += ms;
    sum_squares_ms2 += ms * ms;
  }
  double mean_ms() const {
    return minibatches == 0 ? 0 : sum_ms / static_cast<double>(minibatches);
  }
  double stddev_ms() const {
    if (minibatches < 2) return 0;
    const auto n = static_cast<double>(minibatches);
    return std::sqrt(std::max(0.0, (sum_squares_ms2 - sum_ms * sum_ms / n) / (n - 1)));
  }
};

}  // namespace gearshift
