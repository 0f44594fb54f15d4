// A clock that stands where a test puts it.
#pragma once

#include "controller/clock.h"

namespace gearshift::fakes {

struct ManualClock final : Clock {
  Time time{std::chrono::hours(1)};
  Time now() const override { return time; }
};

}  // namespace gearshift::fakes
