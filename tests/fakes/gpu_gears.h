// Settings of one GPU clock, and what they were measured to cost.
#pragma once

#include <chrono>
#include <cstdint>

#include "controller/observation.h"

namespace gearshift::fakes {

inline Setting gpu_gear(std::int64_t gpu_khz) {
  Setting setting;
  setting.mode.count = 1;
  setting.mode.values[0] = gpu_khz;
  setting.batch_size = {16, 0};
  return setting;
}

inline Observation measured_gear(std::int64_t gpu_khz, int minibatch_ms, std::int64_t power_mw,
                                 Outcome outcome = Outcome::complete) {
  Observation observation;
  observation.setting = gpu_gear(gpu_khz);
  observation.outcome = outcome;
  observation.power_mean_mw = power_mw;
  observation.cost[0].minibatch_mean = std::chrono::milliseconds(minibatch_ms);
  observation.cost[0].minibatches = 10;
  return observation;
}

}  // namespace gearshift::fakes
