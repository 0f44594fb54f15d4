// Times of tests that count from a start long after the clock's zero.
#pragma once

#include <chrono>

#include "controller/clock.h"

namespace gearshift::fakes {

inline Time at(Duration since) { return Time{} + std::chrono::seconds(100) + since; }

constexpr Duration kInstant = std::chrono::nanoseconds(1);  // the least that time goes on by

}  // namespace gearshift::fakes
