// A clock that goes on by a millisecond each time it is read, so that no wait is endless.
#pragma once

#include "controller/clock.h"

namespace gearshift::fakes {

struct TickingClock final : Clock {
  mutable Time time{std::chrono::hours(1)};
  Time now() const override { return time += std::chrono::milliseconds(1); }
};

}  // namespace gearshift::fakes
