// The standard normal distribution.
#pragma once

#include <cmath>
#include <numbers>

namespace gearshift {

inline double normal_density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}
// The odds of a draw of at most x.
inline double normal_odds(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
// The mean of the draws above x.
inline double normal_hazard(double x) {
  return x > 6 ? x + 1 / x : normal_density(x) / normal_odds(-x);
}
// The x that a draw is at most with these odds, which are above 0 and below 1. Within +-6.
inline double normal_quantile(double odds) {
  double low = -6;
  double high = 6;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (normal_odds(middle) < odds ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace gearshift
