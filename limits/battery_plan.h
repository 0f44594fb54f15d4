// Which power to spend a battery's energy at, so that the work is done, done soon, or done most.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "limits/power_hull.h"

namespace gearshift {

enum class BatteryAim : std::uint8_t {
  finish,        // so many samples before the reserve, as soon as the energy allows
  least_energy,  // so many samples by a deadline, with the least energy
  serve,         // until a time, if the energy lasts as long, with the most work that it allows
  // The most work until nothing above the reserve is left, at the power that does most with a joule
  // of the board's; of a charger that gives more, all.
  progress,
};
constexpr std::string_view battery_aim_name(BatteryAim aim) {
  return aim == BatteryAim::finish         ? "finish"
         : aim == BatteryAim::least_energy ? "least-energy"
         : aim == BatteryAim::serve        ? "serve"
                                           : "progress";
}
// Whether it is about a number of samples.
constexpr bool needs_samples(BatteryAim aim) {
  return aim == BatteryAim::finish || aim == BatteryAim::least_energy;
}

// What is left to do and to do it with.
struct BatteryTask {
  BatteryAim aim = BatteryAim::progress;
  double energy_j = 0;  // above the reserve, less what is spared
  double spare_j = 0;   // above it too: serve falls short only where that does not do either
  double other_w = 0;   // drawn from the battery whatever the board does; negative: a charger gives
  double samples = 0;   // finish and least_energy
  std::optional<double> time_s{};  // least_energy and serve need it; a deadline for finish
};

// Why a plan falls short of what was asked.
enum class Shortfall : std::uint8_t { none, energy, time, unknown };
constexpr std::string_view shortfall_name(Shortfall shortfall) {
  return shortfall == Shortfall::none     ? "none"
         : shortfall == Shortfall::energy ? "energy"
         : shortfall == Shortfall::time   ? "time"
                                          : "unknown";
}

struct BatteryPlan {
  Shortfall shortfall = Shortfall::unknown;  // the plan then does the most that can be done
  WorkPoint low;                             // what the plan takes turns between
  WorkPoint high;
  double high_share = 0;    // of the time
  double mean_power_w = 0;  // of the board
  double time_s = 0;        // until the work is done, the time is over or the energy spent
  double energy_j = 0;      // from the battery by then
  double samples = 0;       // by then
  bool charged = false;     // until the energy is spent, but a charger gives all: no end is known
};

// Every aim maximises or minimises a linear function of the times spent in the settings, under two
// linear constraints (of energy, time and samples, two are given). A basic solution of such a
// program has no more than two times that are not 0, and the hull's neighbours are the ones that
// beat all others; so every aim comes down to one mean power, and the plan to the two vertices
// about it. docs/limits.md has the reasoning. An empty hull gives a plan of unknown shortfall.
BatteryPlan plan_battery(const PowerHull& hull, const BatteryTask& task);

// Of energy that lasts until no such time at any power: what lasts longest. Where that is a pause,
// which does no work, the most work instead. The hull must not be empty.
BatteryPlan plan_that_lasts_longest(const PowerHull& hull, const BatteryTask& task);

// The plan that spends `power_w` on the mean for so long. The hull must not be empty.
BatteryPlan plan_at(const PowerHull& hull, const BatteryTask& task, double power_w, double time_s);

// "12.4 W and 28.1 W in turns, 38 % of the time in the higher, for 812 s"
std::string describe(const BatteryPlan& plan);

}  // namespace gearshift
