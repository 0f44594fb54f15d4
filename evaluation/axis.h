// One axis of a picture: where a value lies on it, and which values are written beside it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gearshift {

enum class Spacing : std::uint8_t {
  linear,
  logarithmic,
  root,  // by square root: from 0 on, with more room for small values
};

class Axis {
 public:
  // Covers low to high and a little more. Where they are equal it covers the room around them.
  Axis(std::string label, Spacing spacing, double low, double high);

  const std::string& label() const { return label_; }
  // 0 at the lower end, 1 at the upper; values outside are moved to the nearer end.
  double place(double value) const;
  // Round numbers on the axis, far enough from each other to be read.
  std::vector<double> ticks() const;

 private:
  double bend(double value) const;
  // Of these, which rise, those that have room for their numbers.
  std::vector<double> far_apart(const std::vector<double>& candidates) const;

  std::string label_;
  Spacing spacing_;
  double low_ = 0;   // bent
  double high_ = 1;  // bent
  double low_value_ = 0;
  double high_value_ = 1;
};

}  // namespace gearshift
