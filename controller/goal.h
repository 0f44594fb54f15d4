// What the user wants: an objective and the limits it must be reached within.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/clock.h"

namespace gearshift {

enum class Objective : std::uint8_t {
  time,     // least time a sample
  energy,   // least energy a sample
  latency,  // least latency of a request to the inference workload: batch / rate + minibatch time
};
constexpr std::string_view objective_name(Objective objective) {
  return objective == Objective::time     ? "time"
         : objective == Objective::energy ? "energy"
                                          : "latency";
}

// An absent limit binds nothing.
struct Goal {
  Objective objective = Objective::time;
  std::optional<std::int64_t> power_mw{};  // mean board power over the board's power window
  std::optional<Duration> latency{};       // of a request that waits for its batch to fill
  double arrivals_per_s = 0;               // requests; 0: unknown, and latency is not judged

  friend bool operator==(const Goal&, const Goal&) = default;
};

}  // namespace gearshift
