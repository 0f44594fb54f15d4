#include "limits/voltage_ceiling.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

constexpr double kBelowSag = 0.85;
constexpr double kAboveRecovered = 1.03;

}  // namespace

void VoltageCeiling::sagged(double power_w, double energy_wh) {
  const double ceiling_w = kBelowSag * power_w;
  const bool known = std::any_of(sags_.begin(), sags_.end(), [&](const Sag& one) {
    return one.energy_wh >= energy_wh && one.ceiling_w <= ceiling_w;
  });
  if (known) return;
  std::erase_if(sags_, [&](const Sag& one) {
    return one.energy_wh <= energy_wh && one.ceiling_w >= ceiling_w;
  });
  sags_.push_back({.energy_wh = energy_wh, .ceiling_w = ceiling_w});
}

void VoltageCeiling::recovered(double power_w) { recovered_w_ = std::max(recovered_w_, power_w); }

std::optional<double> VoltageCeiling::power_w(double energy_wh, double step_wh) {
  std::optional<double> least_w;
  for (Sag& sag : sags_) {
    const double above = step_wh > 0 ? std::max(0.0, (energy_wh - sag.energy_wh) / step_wh) : 0;
    sag.steps = std::clamp(sag.steps, std::floor(above), std::floor(above + 0.5));
    const double ceiling_w = sag.ceiling_w / std::pow(kBelowSag, sag.steps);
    least_w = std::min(least_w.value_or(ceiling_w), ceiling_w);
  }
  if (!least_w) return std::nullopt;
  return std::max(*least_w, kAboveRecovered * recovered_w_);
}

}  // namespace gearshift
