// A least squares fit for costs: no weight is negative, and what the rows leave open is as
// expected.
#pragma once

#include <span>

namespace gearshift {

// A row that is `at_least` says only that its sum is no less than its target.
struct FitRow {
  std::span<const double> features;
  double target = 0;
  double weight = 1;  // of the squared error, not negative
  bool at_least = false;
};

// Finds the weights x >= 0 that minimise
//   sum over rows of row.weight * (row.target - x * row.features)^2 + pull * sum of (x -
//   expected)^2
// by cyclic coordinate descent (the problem is convex; it ends after 200 rounds, or when a round
// changes hardly anything). `x` and `expected` are as long as the rows; pull is positive. At most
// kMaxFitRows rows of kMaxFitColumns features: see least_squares.h.
void nonnegative_fit(std::span<const FitRow> rows, std::span<const double> expected, double pull,
                     std::span<double> x) noexcept;

}  // namespace gearshift
