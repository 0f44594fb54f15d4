// A belief about the unknown mean and variance of a normal distribution, which values sharpen.
#pragma once

#include <random>
#include <span>

namespace gearshift {

// The normal-inverse-gamma distribution, conjugate to the normal one (Murphy 2007, "Conjugate
// Bayesian analysis of the Gaussian distribution", section 6). In the unit of the values.
struct NormalInverseGamma {
  double mean = 0;    // expected mean
  double weight = 0;  // what it is worth, in values; from 0
  double shape = 1;   // what the variance is worth, in half values; above 0
  double scale = 0;   // shape times the expected variance; from 0, squared unit

  // What is believed after the values were seen.
  NormalInverseGamma updated(std::span<const double> values) const;
  // A mean drawn from the belief: Student's t distribution with 2 shape degrees of freedom, at
  // `mean`, of scale sqrt(scale / shape / weight). Needs a weight above 0.
  double draw(std::mt19937_64& random) const;
};

}  // namespace gearshift
