#include "simulator/enclosure.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// As near to a threshold as this is at it: sums of spans do not meet it exactly.
constexpr double kAtC = 1e-6;

}  // namespace

void Enclosure::advance(double span_s, double power_w) {
  const double settled = settled_c(power_w);
  temperature_c_ = settled + std::exp(-span_s / spec_.time_s) * (temperature_c_ - settled);
  hottest_c_ = std::max(hottest_c_, temperature_c_);
  if (slows_) slowed_s_ += span_s;
  if (temperature_c_ >= spec_.trip_c - kAtC) slows_ = true;
  if (temperature_c_ <= spec_.trip_c - spec_.hysteresis_c + kAtC) slows_ = false;
}

std::optional<double> Enclosure::next_switch_s(double power_w) const {
  const double settled = settled_c(power_w);
  const double threshold = slows_ ? spec_.trip_c - spec_.hysteresis_c : spec_.trip_c;
  const bool meets = slows_ ? settled < threshold : settled > threshold;
  if (!meets) return std::nullopt;
  return spec_.time_s * std::log((temperature_c_ - settled) / (threshold - settled));
}

}  // namespace gearshift
