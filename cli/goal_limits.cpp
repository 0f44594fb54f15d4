#include "cli/goal_limits.h"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace gearshift {
namespace {

// A figure above its limit with the fewest decimals, `least` at least, that show it to be above.
std::string above(double value, double limit, int least) {
  constexpr int kMostDecimals = 6;
  int decimals = least;
  while (decimals < kMostDecimals &&
         !(std::round(value * std::pow(10, decimals)) > limit * std::pow(10, decimals))) {
    ++decimals;
  }
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::vector<BrokenLimit> broken_limits(const Observation& observation, const Goal& goal) {
  std::vector<BrokenLimit> broken;
  if (!observation.ok()) return broken;
  if (!observation.within(goal.power_mw.value_or(0))) {
    const std::int64_t needed_mw = observation.power_mean_mw + observation.power_margin_mw;
    broken.push_back({"power", "over the cap: it needs " + watts_upward(needed_mw)});
  }
  if (observation.known_late(goal.arrivals_per_s)) {
    broken.push_back(
        {"late", fmt::format("requests were late at {:.4g}/s", observation.late_per_s)});
  }
  if (!observation.keeps_energy(goal)) {
    const double energy_j = observation.energy_j(goal);
    broken.push_back({"energy", fmt::format("{} J of {:.6g} J a sample",
                                            above(energy_j, *goal.energy_j, 3), *goal.energy_j)});
  }
  if (!observation.keeps_up(goal)) {
    const char* const how = observation.waits(Kind::infer) ? "answers none of" : "falls behind";
    broken.push_back({"rate", fmt::format("{} {:.4g} requests/s", how, goal.arrivals_per_s)});
  } else if (!observation.answers_in_time(goal)) {
    const double limit_ms = 1e3 * seconds(*goal.latency);
    const double latency_ms = 1e3 * observation.latency_s(goal.arrivals_per_s);
    broken.push_back({"latency", fmt::format("answers in {} ms of {:.6g} ms",
                                             above(latency_ms, limit_ms, 1), limit_ms)});
  }
  return broken;
}

std::string watts_upward(std::int64_t power_mw) {
  return fmt::format("{:.1f} W", std::ceil(static_cast<double>(power_mw) / 100.0) / 10.0);
}

}  // namespace gearshift
