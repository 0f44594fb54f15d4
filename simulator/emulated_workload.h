// A workload that computes nothing: it takes as long for a minibatch as the board model says at the
// clocks of the moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"
#include "controller/clock.h"

namespace gearshift {

struct EmulationOptions {
  std::uint64_t seed = 1;
  double jitter = 0.03;  // deviation of a minibatch's time, relative; lognormal
  // What the first minibatch takes longer (libraries try their algorithms out), at the highest CPU
  // clock; it grows as the clock falls.
  Duration warm_up{};
  double highest_cpu_ghz = 1;
  std::int64_t samples_per_epoch = 0;  // 0: unknown, and all is one epoch
};

struct EmulatedMinibatch {
  Duration elapsed{};
  Duration fetch_stall{};
  Duration compute{};
  std::int32_t batch_size = 0;
  std::uint32_t epoch = 0;  // in which it began, from 0: its last samples may be the next one's
};

class EmulatedWorkload {
 public:
  // Batches that the loader has ready: a new batch size waits until they are used up.
  static constexpr int kPrefetchedBatches = 2;

  // Both parameters must outlive the workload; `batch_size` samples, more than 0.
  EmulatedWorkload(const DeviceParameters& device, const WorkloadParameters& workload,
                   std::int32_t batch_size, const EmulationOptions& options);

  // Works at these clocks until `time` is over or the minibatch ends, and returns the time used.
  // Other workloads take turns with it: each minibatch also waits `others_ms` for theirs.
  Duration work(Duration time, const ModelMode& clocks, double others_ms = 0);
  // Time that the minibatch has still to go if the clocks stay.
  Duration remaining(const ModelMode& clocks, double others_ms = 0) const;
  // The minibatch that has ended, once; the next one has begun then.
  std::optional<EmulatedMinibatch> take_finished();

  // A newer request replaces one that is not in force yet.
  void request_batch_size(std::int32_t batch_size);
  // Puts a request in force at once: a workload that waits has no batches under way.
  void drain();
  std::int32_t batch_size() const { return batch_size_; }
  bool batch_size_pending() const { return requested_.has_value(); }

 private:
  double factor() const;  // jitter of the minibatch under way
  double duration_ms(const ModelMode& clocks, double others_ms) const;

  const DeviceParameters& device_;
  const WorkloadParameters& workload_;
  const EmulationOptions options_;
  std::int32_t batch_size_;
  std::optional<std::int32_t> requested_;
  int prefetched_left_ = 0;
  std::uint64_t index_ = 0;   // of the minibatch under way
  std::int64_t samples_ = 0;  // of those that have ended
  double progress_ = 0;       // of it, 0 to 1
  double elapsed_ms_ = 0;
  double fetch_stall_ms_ = 0;
  double compute_ms_ = 0;
  std::optional<EmulatedMinibatch> finished_;
};

// What the other loads in the text of /.virtual/load need for one minibatch each at these clocks.
double other_loads_ms(std::string_view loads, std::int32_t own_pid, const BoardDescription& board,
                      const ModelMode& clocks);

}  // namespace gearshift
