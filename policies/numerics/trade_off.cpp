#include "policies/numerics/trade_off.h"

#include <algorithm>

#include "policies/numerics/pareto_front.h"

namespace gearshift {

TradeOff trade_off(const Profile& profile) {
  TradeOff costs;
  if (profile.batch_sizes().empty()) return costs;
  costs.samples = profile.batch_sizes().front();
  std::vector<CostPair> power_and_time;
  std::vector<CostPair> energy_and_time;
  for (const ProfileCell& cell : profile.cells()) {
    if (!cell.timed()) continue;
    const double time_ms = cell.minibatch_ms * costs.samples / cell.batch_size;
    const double energy_j = cell.power_w * time_ms / 1000;
    costs.settings.push_back({cell.mode, cell.batch_size, time_ms, cell.power_w, energy_j});
    power_and_time.push_back({cell.power_w, time_ms});
    energy_and_time.push_back({energy_j, time_ms});
  }
  costs.power_and_time = pareto_front(power_and_time);
  costs.energy_and_time = pareto_front(energy_and_time);
  return costs;
}

std::optional<std::size_t> fastest_under(const TradeOff& costs, double cap_w) {
  const auto above = std::partition_point(
      costs.power_and_time.begin(), costs.power_and_time.end(),
      [&](std::size_t index) { return costs.settings[index].power_w <= cap_w; });
  if (above == costs.power_and_time.begin()) return std::nullopt;
  return *std::prev(above);
}

}  // namespace gearshift
