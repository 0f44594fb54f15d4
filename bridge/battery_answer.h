// A battery as the answers to status and explain requests carry it: a list of integers.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/battery.h"

namespace gearshift::wire {

// Energy left and capacity (mWh), voltage (mV), current out of it (mA, negative while it charges),
// and 1 where the energy is an estimate; 0 stands for what the gauge does not tell. Empty where the
// battery's energy is not known.
std::vector<std::int64_t> battery_row(const Battery& battery);

// How long before `now` its energy was read; 0 where it is not known.
std::int64_t age_ns(const Battery& battery, Time now);

// Throws std::runtime_error for a list that is none of a battery.
Battery read_battery(const std::vector<std::int64_t>& row);

}  // namespace gearshift::wire
