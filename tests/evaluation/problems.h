// The problems that tests of a grid ask for, in a line each.
#pragma once

#include <cstdint>
#include <optional>

#include "evaluation/problem.h"

namespace gearshift {

inline Problem train_problem(std::int64_t power_mw) {
  return {.kind = Kind::train, .goal = {.objective = Objective::time, .power_mw = power_mw}};
}

inline Problem infer_problem(std::int64_t power_mw, Duration latency, double arrivals_per_s) {
  return {.kind = Kind::infer,
          .goal = {.objective = Objective::latency,
                   .power_mw = power_mw,
                   .latency = latency,
                   .arrivals_per_s = arrivals_per_s}};
}

// Most training beside inference that answers in time; for a ConcurrentTable.
inline Problem concurrent_problem(std::optional<std::int64_t> power_mw, Duration latency,
                                  double arrivals_per_s) {
  return {.kind = Kind::infer,
          .goal = {.objective = Objective::throughput,
                   .power_mw = power_mw,
                   .latency = latency,
                   .arrivals_per_s = arrivals_per_s}};
}

// No limit of power where it is nullopt.
inline Problem online_problem(std::optional<std::int64_t> power_mw, double energy_weight) {
  return {
      .kind = Kind::train,
      .goal = {
          .objective = Objective::weighted, .power_mw = power_mw, .energy_weight = energy_weight}};
}

}  // namespace gearshift
