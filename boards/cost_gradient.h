// Time and power of a minibatch with their derivatives by what the workload demands: what a fit
// with uncertainty, and its prediction for thousands of modes, are made of.
#pragma once

#include <array>
#include <cstddef>

#include "boards/cost_model.h"

namespace gearshift {

inline constexpr std::size_t kDemands = 6;  // A, B, L, P, O and kg, in this order

// Of a minibatch: natural logarithms of its time in ms and its power in W, and what each changes by
// where the natural logarithm of a demand does.
struct LogCost {
  double time = 0;
  double power = 0;
  std::array<double, kDemands> time_by{};
  std::array<double, kDemands> power_by{};
};

// Exact derivatives of minibatch_cost; where two resources tie, those of one side. Every demand
// must be above 0. Takes about twice the time of minibatch_cost.
LogCost log_cost(const DeviceParameters& device, const Demand& demand, const ModelMode& mode);

}  // namespace gearshift
