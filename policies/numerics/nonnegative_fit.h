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
// which is convex. Rows that are `at_least` count where they miss their target; with those that do,
// it is a quadratic problem, which an active set of positive weights solves exactly (Lawson and
// Hanson, Solving Least Squares Problems, 1974, chapter 23, on the normal equations as in Bro and
// de Jong, J. Chemometrics 11, 1997). That is the next Newton step, halved until it gains, until
// the same rows count: one step without such rows, and it ends after 50. `x` and `expected` are as
// long as the rows; pull is positive, and of a weight at least 1e-12 of what the rows say of it. At
// most kMaxFitRows rows of kMaxFitColumns features: see least_squares.h.
void nonnegative_fit(std::span<const FitRow> rows, std::span<const double> expected, double pull,
                     std::span<double> x) noexcept;

}  // namespace gearshift
