// A roofline fit to settings of its own choosing: each next one is where its prediction is least
// sure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/numerics/roofline.h"

namespace gearshift {

// What is known of a workload of a board file, as what another one is expected to be like. Its
// demands count, and how its trainer was set up.
RooflineEstimate estimate_of(const WorkloadParameters& workload);

struct DesignedFit {
  std::vector<std::size_t> chosen;  // of the candidates, in the order they were chosen
  RooflineEstimate estimate;
  double time_error = 0;  // mean relative errors over the candidates that were not chosen
  double power_error = 0;
};

// Measures `count` of the candidates, or all: first the one that `seed` draws, then always the one
// whose measurement would tell most by the fit to those before, as scripts/roofline.lua does.
DesignedFit fit_by_design(const DeviceParameters& device, std::span<const RooflineRow> candidates,
                          const RooflineEstimate& expected, std::size_t count, std::uint64_t seed);

}  // namespace gearshift
