// The order in which every report lists its standings: policy by policy, each workload, then all.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "evaluation/grid.h"

namespace gearshift {

// `standing_of(policy, workload)`, where nullopt as the workload means all of them together; left
// out where there is but one.
template <typename StandingOf>
auto standings_of(const Grid& grid, StandingOf standing_of) {
  std::vector<decltype(standing_of(std::size_t{}, std::optional<std::size_t>{}))> standings;
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    for (std::size_t workload = 0; workload < grid.workloads.size(); ++workload) {
      standings.push_back(standing_of(policy, std::optional(workload)));
    }
    if (grid.workloads.size() > 1) standings.push_back(standing_of(policy, std::nullopt));
  }
  return standings;
}

}  // namespace gearshift
