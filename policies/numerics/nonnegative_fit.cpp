#include "policies/numerics/nonnegative_fit.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

#include "policies/numerics/least_squares.h"

namespace gearshift {
namespace {

constexpr int kMaxRounds = 200;
constexpr double kEnough = 1e-6;  // change of a weight, relative to the largest

}  // namespace

void nonnegative_fit(std::span<const FitRow> rows, std::span<const double> expected, double pull,
                     std::span<double> x) noexcept {
  assert(rows.size() <= kMaxFitRows && x.size() <= kMaxFitColumns && pull > 0);
  std::array<double, kMaxFitRows> errors;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::max(0.0, expected[i]);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    errors[r] = rows[r].target;
    for (std::size_t i = 0; i < x.size(); ++i) errors[r] -= x[i] * rows[r].features[i];
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    double largest_change = 0;
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double slope = pull * (expected[i] - x[i]);
      double curvature = pull;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].at_least && errors[r] <= 0) continue;
        const double weighted = rows[r].weight * rows[r].features[i];
        slope += weighted * errors[r];
        curvature += weighted * rows[r].features[i];
      }
      const double change = std::max(-x[i], slope / curvature);
      x[i] += change;
      for (std::size_t r = 0; r < rows.size(); ++r) errors[r] -= change * rows[r].features[i];
      largest_change = std::max(largest_change, std::abs(change));
      largest = std::max(largest, x[i]);
    }
    if (largest_change <= kEnough * largest) break;
  }
}

}  // namespace gearshift
