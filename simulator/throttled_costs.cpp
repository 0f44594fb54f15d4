#include "simulator/throttled_costs.h"

#include <algorithm>
#include <cmath>

namespace gearshift {

PowerMode ThrottledCosts::slowed(const PowerMode& mode) const {
  PowerMode slower = mode;
  for (const char* const name : {"cpu_mhz", "gpu_mhz"}) {
    const auto knob = knobs_.find(name);
    if (!knob) continue;
    const double khz = factor_ * static_cast<double>(mode.values[*knob]);
    slower.values[*knob] = std::max<std::int64_t>(1, std::llround(khz));
  }
  return slower;
}

std::optional<TrueCost> ThrottledCosts::cost(const PowerMode& mode, std::int32_t batch_size) const {
  const auto unthrottled = costs_.cost(mode, batch_size);
  if (!unthrottled) return std::nullopt;
  TrueCost cost = costs_.passing(slowed(mode), batch_size);
  cost.origin = unthrottled->origin;
  return cost;
}

TrueCost ThrottledCosts::passing(const PowerMode& mode, std::int32_t batch_size) const {
  return costs_.passing(slowed(mode), batch_size);
}

double ThrottledCosts::idle_power_w(const PowerMode& mode) const {
  return costs_.idle_power_w(slowed(mode));
}

RailPower ThrottledCosts::rails(const PowerMode& mode,
                                std::optional<std::int32_t> batch_size) const {
  return costs_.rails(slowed(mode), batch_size);
}

}  // namespace gearshift
