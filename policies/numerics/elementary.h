// Elementary numbers and functions that the numerics share.
#pragma once

#include <limits>

namespace gearshift {

inline constexpr double kHuge = std::numeric_limits<double>::infinity();

inline double square(double x) { return x * x; }

}  // namespace gearshift
