// What goes wrong in a simulation, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/clock.h"

namespace gearshift {

enum class FaultKind : std::uint8_t {
  reading_missing,   // the sensor cannot be read
  reading_stuck,     // it shows what it showed when the fault began, as if read anew
  reading_absurd,    // what it shows cannot be
  knob_refuses,      // writes to `knob` fail
  knob_lies,         // writes to `knob` change nothing, and it reads back what was written
  board_throttles,   // `knob` does not go above `value`, whatever was written
  trainer_stalls,    // no minibatch is reported
  trainer_vanishes,  // the workload's connection is lost, and it comes back at the end
  helper_vanishes,   // nobody sets the knobs, and all are at their highest, until another one comes
};

// From `begin` until before `end`.
struct Fault {
  FaultKind kind = FaultKind::reading_missing;
  Time begin{};
  Time end = Time::max();
  std::size_t knob = 0;
  std::int64_t value = 0;  // in the knob's unit

  bool active(Time now) const { return begin <= now && now < end; }
};

using FaultPlan = std::vector<Fault>;

// The first fault of the kind that is active; null where none is.
inline const Fault* active_fault(const FaultPlan& plan, FaultKind kind, Time now) {
  for (const Fault& fault : plan) {
    if (fault.kind == kind && fault.active(now)) return &fault;
  }
  return nullptr;
}
inline const Fault* active_fault(const FaultPlan& plan, FaultKind kind, Time now,
                                 std::size_t knob) {
  for (const Fault& fault : plan) {
    if (fault.kind == kind && fault.knob == knob && fault.active(now)) return &fault;
  }
  return nullptr;
}

}  // namespace gearshift
