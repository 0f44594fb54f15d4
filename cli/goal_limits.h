// Which limits of the goal a measured setting does not keep, in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/goal.h"
#include "controller/observation.h"

namespace gearshift {

// A limit of the goal that a measurement does not keep.
struct BrokenLimit {
  std::string_view name;  // "power", "late", "energy", "rate" or "latency"
  std::string why;        // "over the cap: it needs 31.2 W", "falls behind 90 requests/s"
};
// As Observation::keeps judges it, with `goal.power_mw` for the cap. Empty of a measurement that
// was cut short: its outcome says why.
std::vector<BrokenLimit> broken_limits(const Observation& observation, const Goal& goal);

// "30.1 W" of 30,006 mW: no less than it is, so that a figure above a cap does not read as the cap.
std::string watts_upward(std::int64_t power_mw);

}  // namespace gearshift
