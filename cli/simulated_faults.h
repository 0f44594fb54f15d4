// What `gearshift simulate --fault` is told to let go wrong, and when.
#pragma once

#include <string>
#include <vector>

#include "controller/knob.h"
#include "limits/schedule_limit.h"
#include "simulator/fault_plan.h"

namespace gearshift {

// What a workload costs is another thing from `begin` until before `end`.
struct WorldChange {
  Time begin{};
  Time end = Time::max();
  double factor = 0;       // that CPU and GPU clocks are throttled to; 0: they are not
  std::string workload{};  // another one that runs under the same name, where `factor` is 0
};

struct SimulatedFaults {
  FaultPlan plan;
  // The cap from the beginning on, in the order of time; empty where no fault steps it.
  std::vector<ScheduleStep> caps;
  std::vector<ScheduleStep> stepped;  // of each what the faults say: nullopt where none steps it
  std::vector<WorldChange> changes;
  // The simulation goes on at least so long, so that it meets every fault and what comes of it.
  Duration least_duration{};
};

// Each text is FAULT@BEGIN..END, where "..END" and "@BEGIN..END" may be left out and FAULT is
// reading_missing, reading_stuck, reading_absurd, knob_refuses:KNOB, knob_lies:KNOB,
// board_throttles:KNOB=VALUE, trainer_stalls, trainer_vanishes, helper_vanishes, cap_steps:POWER,
// throttle:FACTOR or workload:PROFILE. Times are those of parse_duration, from the beginning of the
// run. `power_mw` is the cap while none has stepped.
// Throws std::invalid_argument that names the text, the word and what is allowed.
SimulatedFaults parse_faults(const std::vector<std::string>& texts, const KnobSpace& knobs,
                             const std::optional<std::int64_t>& power_mw);

}  // namespace gearshift
