// Small least squares problems, as a policy that fits a handful of measurements has them.
#pragma once

#include <span>

namespace gearshift {

// The limits of one fit: with them it takes well under a millisecond.
inline constexpr int kMaxFitRows = 256;
inline constexpr int kMaxFitColumns = 16;

// Finds the weights that bring every row's sum of weight * feature as near to its target as can be,
// in the sum of squares; of several such weights, those of least norm, each taken times the
// largest value of its feature. `features` holds the rows
// one after another, targets.size() of them, each as long as `weights`. Within the limits above.
void least_squares(std::span<const double> features, std::span<const double> targets,
                   std::span<double> weights) noexcept;

}  // namespace gearshift
