// One problem of a grid: which workload's cost is minimised, and the limits it must keep.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/goal.h"
#include "controller/profile.h"

namespace gearshift {

// `train`: by default least time of a minibatch within the power limit. `infer`: by default least
// latency of a request, batch / rate + minibatch time, within the limits of power and latency,
// where a minibatch takes no longer than its batch takes to arrive. Judged on true cells, without
// margins. `online`: least weighted cost of a sample, measurement by measurement, within the power
// limit. A limit on the energy of a sample binds all of them.
struct Problem {
  Kind kind = Kind::train;  // of online, whatever each workload's is
  Goal goal;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// Milliseconds that `batch_size` samples take to arrive; infer with a known rate only.
double arrival_ms(const Problem& problem, std::int32_t batch_size);
// True where the cell's power is within the limit, or there is none.
bool keeps_power(const Problem& problem, const ProfileCell& cell);
// Time of a sample in seconds.
double sample_s(const ProfileCell& cell);
// True where a sample's energy is within the limit, or there is none.
bool keeps_energy(const Problem& problem, const ProfileCell& cell);
// True where inference keeps up with its arrivals and its latency limit; training always does.
bool keeps_pace(const Problem& problem, const ProfileCell& cell);

}  // namespace gearshift
