#include "policies/numerics/normal_inverse_gamma.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "policies/numerics/random_draw.h"

namespace gearshift {

NormalInverseGamma NormalInverseGamma::updated(std::span<const double> values) const {
  if (values.empty()) return *this;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double values_mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - values_mean) * (value - values_mean);
  const double apart = values_mean - mean;
  NormalInverseGamma after;
  after.weight = weight + count;
  after.mean = (weight * mean + sum) / after.weight;
  after.shape = shape + count / 2;
  after.scale = scale + squares / 2 + weight * count * apart * apart / (2 * after.weight);
  return after;
}

double NormalInverseGamma::draw(std::mt19937_64& random) const {
  assert(weight > 0 && shape > 0);
  // A shape far below 1 draws some that are too small for a double.
  constexpr double kLeastPrecision = 1e-260;  // of the values, in units of 1 / scale
  const double precision = std::max(draw_gamma(shape, random), kLeastPrecision);
  return mean + draw_normal(random) * std::sqrt(scale / precision / weight);
}

}  // namespace gearshift
