#include "policies/numerics/normal_inverse_gamma.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace gearshift {
namespace {

// From (0, 1), both ends left out. Engine output only, so that every library draws the same.
double uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

// Box and Muller 1958; the second number of the pair is not kept, so that no draw has a past.
double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

// Marsaglia and Tsang 2000, with its boost for shapes below 1. Scale 1.
double gamma(double shape, std::mt19937_64& random) {
  if (shape < 1) {
    const double boost = std::pow(uniform(random), 1 / shape);
    return gamma(shape + 1, random) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform(random)) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

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
  const double precision = gamma(shape, random);  // of the values, in units of 1 / scale
  return mean + normal(random) * std::sqrt(scale / precision / weight);
}

}  // namespace gearshift
