#include "evaluation/axis.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

constexpr double kLeastGap = 0.09;  // between two ticks, as a share of the axis
constexpr double kRoom = 0.03;      // beyond the values, as a share of the axis

// 1, 2 or 5 times a power of ten, for about six steps.
double round_step(double span) {
  const double rough = span / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

// Round numbers from low to high: 1, 2 and 5 times every power of ten, and more where that is few.
std::vector<double> decades(double low, double high) {
  std::vector<double> factors = {1, 2, 5};
  if (high < 20 * low) factors = {1, 1.5, 2, 3, 4, 5, 7};
  std::vector<double> values;
  for (double power = std::floor(std::log10(low)); power <= std::log10(high); ++power) {
    for (const double factor : factors) {
      const double value = factor * std::pow(10, power);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) values.push_back(value);
    }
  }
  return values;
}

// Multiples of a round step from low to high.
std::vector<double> steps(double low, double high) {
  const double step = round_step(high - low);
  std::vector<double> values;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    values.push_back(i * step + 0.0);  // no -0
  }
  return values;
}

}  // namespace

Axis::Axis(std::string label, Spacing spacing, double low, double high)
    : label_(std::move(label)), spacing_(spacing) {
  if (spacing == Spacing::logarithmic) low = std::max(low, 1e-6);
  if (high <= low) {
    high = low + std::max(1e-3, std::abs(low) / 2);
    if (spacing != Spacing::root && low > 0) low /= 2;
  }
  low_ = bend(low);
  high_ = bend(high);
  const double room = kRoom * (high_ - low_);
  // A root axis, and a linear one that begins at zero, begins exactly there.
  if (low != 0) low_ -= room;
  high_ += room;
  low_value_ = low;
  high_value_ = high;
}

double Axis::bend(double value) const {
  switch (spacing_) {
    case Spacing::logarithmic:
      return std::log(std::max(value, 1e-9));
    case Spacing::root:
      return std::sqrt(std::max(value, 0.0));
    case Spacing::linear:
      break;
  }
  return value;
}

double Axis::place(double value) const {
  return std::clamp((bend(value) - low_) / (high_ - low_), 0.0, 1.0);
}

std::vector<double> Axis::ticks() const {
  if (spacing_ == Spacing::linear) return far_apart(steps(low_value_, high_value_));
  const double least = high_value_ < 5 ? high_value_ / 100 : 1;
  std::vector<double> candidates =
      decades(spacing_ == Spacing::root ? least : low_value_, high_value_);
  if (spacing_ == Spacing::root) candidates.insert(candidates.begin(), 0);
  std::vector<double> ticks = far_apart(candidates);
  // A narrow range lies between two of these numbers, or has one.
  return ticks.size() < 2 ? far_apart(steps(low_value_, high_value_)) : ticks;
}

std::vector<double> Axis::far_apart(const std::vector<double>& candidates) const {
  std::vector<double> ticks;
  for (const double candidate : candidates) {
    if (ticks.empty() || place(candidate) - place(ticks.back()) >= kLeastGap) {
      ticks.push_back(candidate);
    }
  }
  return ticks;
}

}  // namespace gearshift
