// Control time: integer nanoseconds of CLOCK_BOOTTIME, as a type that mixes with no other clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace gearshift {

// Has no now(): the loop is told the time by World::wait_until, the threads beside it by a Clock.
struct ControlClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<ControlClock>;
  static constexpr bool is_steady = true;
};

using Duration = ControlClock::duration;
using Time = ControlClock::time_point;

// Where time comes from outside the loop: the boot clock live, a counter in tests.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
};

// A Duration counts nanoseconds.
inline constexpr double kNsInMs = 1e6;
inline constexpr double kNsInSecond = 1e9;

inline constexpr double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace gearshift
