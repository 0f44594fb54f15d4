// What boards and frameworks do beside the plain cost of a setting; each can be switched off.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "controller/clock.h"
#include "simulator/sensor_lag.h"

namespace gearshift {

// As it stands everything is off: a measurement then gives the very numbers of the cost source.
struct Effects {
  double jitter = 0;          // deviation of a minibatch's time, relative; lognormal with mean 1
  double highest_jitter = 0;  // the same in the highest mode
  // What the first minibatch of a workload takes longer at the highest CPU clock. It grows as the
  // clock falls, up to first_minibatch_most.
  Duration first_minibatch{};
  Duration first_minibatch_most{};
  std::optional<LagShape> lag;  // how the power sensor follows
  Duration lag_constant{};      // width of the boxcar, or the time constant
  double sensor_noise = 0;      // deviation of a power reading, relative
  Duration noise_interval = std::chrono::milliseconds(430);  // it is drawn anew in each
  bool quantised = false;      // a power reading comes in the steps of the rails' registers
  double unapplied_share = 0;  // of the modes: one clock of theirs keeps the value it had
  bool hotplug = false;        // cores go on and off one a step, not all at once
  // Once in so long, on average, a minibatch takes so much longer: the machine did something else.
  Duration stall{};
  Duration stall_interval = std::chrono::seconds(2);
};

// "none", "all", or some of jitter, first, lag, slow-lag, noise, quantised, unapplied, hotplug,
// stalls with commas between them, at the sizes of docs/simulator.md. "all" has the boxcar, neither
// slow-lag nor quantised nor stalls. Throws std::invalid_argument that names the word and what is
// allowed.
Effects parse_effects(std::string_view text);

}  // namespace gearshift
