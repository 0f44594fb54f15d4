// What the user wants: an objective and the limits it must be reached within.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/clock.h"

namespace gearshift {

enum class Objective : std::uint8_t {
  time,      // least time a sample
  energy,    // least energy a sample
  latency,   // least latency of a request to the inference workload: batch / rate + minibatch time
  weighted,  // least cost a sample: w energy / reference energy + (1 - w) time / reference time
  target,    // least cost of training to a target metric: w energy + (1 - w) priced power * time, J
};
constexpr std::string_view objective_name(Objective objective) {
  return objective == Objective::time       ? "time"
         : objective == Objective::energy   ? "energy"
         : objective == Objective::latency  ? "latency"
         : objective == Objective::weighted ? "weighted"
                                            : "target";
}

// An absent limit binds nothing.
struct Goal {
  Objective objective = Objective::time;
  std::optional<std::int64_t> power_mw{};  // mean board power over the board's power window
  std::optional<Duration> latency{};       // of a request that waits for its batch to fill
  double arrivals_per_s = 0;               // requests; 0: unknown, and latency is not judged
  double energy_weight = 0.5;        // weighted and target: 0 counts time alone, 1 energy alone
  double reference_s = 0;            // weighted: a sample's time in the highest setting, s
  double reference_j = 0;            // weighted: its energy there, J; 0: not measured yet
  std::int64_t priced_power_mw = 0;  // target: what a second costs, the most the device draws

  // What time objectives, energy and their mixtures minimise, of a sample or of an epoch that takes
  // `time_s` seconds and `energy_j` joules: in seconds for time, joules for energy and target, of
  // no unit for weighted. Infinity where a reference is needed and unknown, and for latency, which
  // needs a batch size and a rate. docs/objectives.md has the formulas.
  double cost(double time_s, double energy_j) const;

  friend bool operator==(const Goal&, const Goal&) = default;
};

}  // namespace gearshift
