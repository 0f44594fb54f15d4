// The settings that no other one beats in both of two costs, as time and power or energy and time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gearshift {

struct CostPair {
  double first = 0;
  double second = 0;
};

// Indices of the points that no other point is at most equal to in both costs and less in one,
// ascending by the first cost. Of points with equal costs the one of the least index stands for
// all. A point with a cost that is not finite is on no front.
std::vector<std::size_t> pareto_front(std::span<const CostPair> points);

}  // namespace gearshift
