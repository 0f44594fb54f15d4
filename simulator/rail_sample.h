// What an INA3221 shows of a rail's power: volts and amperes in the steps of its registers.
#pragma once

#include <cstdint>
#include <string_view>

#include "simulator/rail_power.h"

namespace gearshift {

// The board's shunts.
inline constexpr std::int64_t kShuntUohm = 2000;

// One measured channel in the units of the driver's files.
struct RailSample {
  std::int64_t voltage_mv = 0;
  std::int64_t current_ma = 0;
};

std::string_view rail_label(Rail rail);
RailSample rail_sample(Rail rail, double power_mw);
// The board's total as its sensor adds it up: the sum of those samples, in mW.
std::int64_t sampled_total_mw(const RailPower& power);
// What that is off by at most: half a step of each of the three currents.
inline constexpr std::int64_t kTotalRoundingMw = 430;

}  // namespace gearshift
