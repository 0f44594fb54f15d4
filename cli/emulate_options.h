// What `gearshift emulate` is told, and the line at its end.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/clock.h"
#include "controller/moments.h"

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
  std::int64_t samples = 0;
  Moments ms;  // of each minibatch

  void add(Duration elapsed, std::int32_t batch_size) {
    samples += batch_size;
    ms.add(1e3 * gearshift::seconds(elapsed));
  }
  double stddev_ms() const { return std::sqrt(ms.variance()); }
};

}  // namespace gearshift
