// Random numbers of known distributions, from engine output only, so that every library draws the
// same ones.
#pragma once

#include <random>

namespace gearshift {

// From (0, 1), both ends left out.
double draw_uniform(std::mt19937_64& random);
// Mean 0, deviation 1.
double draw_normal(std::mt19937_64& random);
// Of this shape, above 0, and scale 1.
double draw_gamma(double shape, std::mt19937_64& random);

}  // namespace gearshift
