#include "controller/goal.h"

#include <limits>

namespace gearshift {
namespace {

// A term of weight 0 counts nothing, even where its factor is infinite.
double weighed(double weight, double value) { return weight > 0 ? weight * value : 0; }

}  // namespace

double Goal::cost(double time_s, double energy_j) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const double time_weight = 1 - energy_weight;
  switch (objective) {
    case Objective::time:
      return time_s;
    case Objective::energy:
      return energy_j;
    case Objective::latency:
      return kUnknown;
    case Objective::weighted:
      if (reference_s <= 0 || reference_j <= 0) return kUnknown;
      return weighed(energy_weight, energy_j / reference_j) +
             weighed(time_weight, time_s / reference_s);
    case Objective::target:
      if (priced_power_mw <= 0 && time_weight > 0) return kUnknown;
      return weighed(energy_weight, energy_j) +
             weighed(time_weight, static_cast<double>(priced_power_mw) / 1e3 * time_s);
  }
  return kUnknown;
}

}  // namespace gearshift
