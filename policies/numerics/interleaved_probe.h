// The setting that a search for the most training beside inference should measure next.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "controller/goal.h"
#include "policies/numerics/interleaved_process.h"
#include "policies/numerics/next_probe.h"

namespace gearshift {

// E[max(0, rate * floor(window / t) - best)] where log t is normal: what whole training minibatches
// of a window are expected to add to `best` a second, with `rate` windows a second.
double expected_gain(double window_ms, double rate, double best, const LogBelief& train_ms);

// The same where training has all of `spare_ms` ms a second that inference leaves over, whole
// minibatches or not: E[max(0, spare_ms / t - best)] (the mean of a log-normal beyond a strike).
double expected_gain_of_all(double spare_ms, double best, const LogBelief& train_ms);

struct InterleavedTerms {
  // Training minibatches a second of the best setting known that keeps the goal, 0 where it leaves
  // no room for any; nullopt where there is none yet.
  std::optional<double> best_rate{};
  // Where that is 0: ms that inference is busy for a request in the best setting. What leaves more
  // time to requests that come in bursts is then a gain too, while they need more than half of it.
  std::optional<double> best_busy_ms{};
  ProbeTerms probe{};  // its best_log is not read
};

// As next_probe; the gain is relative to the best rate, or, where that is 0 or unknown, to the most
// that is expected anywhere. The goal has arrivals; Probe::minibatch_ms is of inference.
std::optional<Probe> interleaved_probe(const InterleavedProcess& process, const Goal& goal,
                                       std::span<const std::uint8_t> excluded,
                                       const InterleavedTerms& terms);

}  // namespace gearshift
