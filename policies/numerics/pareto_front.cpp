#include "policies/numerics/pareto_front.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gearshift {

std::vector<std::size_t> pareto_front(std::span<const CostPair> points) {
  std::vector<std::size_t> order;
  order.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::isfinite(points[i].first) && std::isfinite(points[i].second)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    if (points[one].first != points[other].first) return points[one].first < points[other].first;
    if (points[one].second != points[other].second) {
      return points[one].second < points[other].second;
    }
    return one < other;
  });
  std::vector<std::size_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    if (points[i].second >= least) continue;
    least = points[i].second;
    front.push_back(i);
  }
  return front;
}

}  // namespace gearshift
