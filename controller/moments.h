// Mean and variance of values that come one by one.
#pragma once

#include <cstdint>

namespace gearshift {

// Mean and sum of squares around it (Welford, Technometrics 4, 1962).
struct Moments {
  std::uint32_t count = 0;
  double mean = 0;
  double squares = 0;

  void add(double value) {
    const double off = value - mean;
    mean += off / ++count;
    squares += off * (value - mean);
  }
  // Of the values as a sample; 0 of a single one.
  double variance() const { return count > 1 ? squares / (count - 1) : 0; }
};

}  // namespace gearshift
