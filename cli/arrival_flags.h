// How requests come, as people type it.
#pragma once

#include <string>

#include "simulator/arrivals.h"

namespace gearshift {

// One line on the forms that parse_arrivals takes, for help texts.
inline constexpr const char* kArrivalForms =
    "poisson:RATE, mmpp:LOW,HIGH,MEAN_STAY, day:LOW,HIGH,PERIOD or trace:FILE,RATE, all a second, "
    "and bursts behind it: ,x3@150s+30s";

// "poisson:60", "mmpp:30,180,20s", "day:20,90,24h", "trace:FILE,60" (read_arrival_times; scaled to
// that mean rate), each with bursts behind it, "x3@150s+30s": three times as fast for 30 s from
// 150 s on. Throws std::invalid_argument that names the text and what is allowed, also where the
// mean rate is below 0.001 a second or the highest above a million, and std::runtime_error where
// the file cannot be used.
ArrivalSpec parse_arrivals(const std::string& text);

}  // namespace gearshift
