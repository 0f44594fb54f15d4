#include "policies/numerics/random_draw.h"

#include <cmath>
#include <numbers>

namespace gearshift {

double draw_uniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
}

// Box and Muller 1958; the second number of the pair is not kept, so that no draw has a past.
double draw_normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(draw_uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * draw_uniform(random));
}

// Marsaglia and Tsang 2000, with its boost for shapes below 1.
double draw_gamma(double shape, std::mt19937_64& random) {
  if (shape < 1) {
    const double boost = std::pow(draw_uniform(random), 1 / shape);
    return draw_gamma(shape + 1, random) * boost;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(draw_uniform(random)) < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace gearshift
