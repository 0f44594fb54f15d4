// How often a sensor looks again for what it could not read.
#pragma once

#include <chrono>

#include "controller/clock.h"

namespace gearshift {

inline constexpr Duration kLookEvery = std::chrono::seconds(1);

}  // namespace gearshift
