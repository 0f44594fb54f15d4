// Where a limit comes from: the operator, a schedule, a battery, heat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/observation.h"

namespace gearshift {

// What a source answers that leaves no power to work with: the managed workloads wait until the cap
// is above it. No board draws so little, so that it is no cap to be kept.
inline constexpr std::int64_t kNoPowerMw = 1;

class LimitSource {
 public:
  virtual ~LimitSource() = default;
  virtual std::string_view name() const = 0;  // "operator", "schedule", "battery"
  virtual void consume(const Event& event) = 0;
  // Every reading of the tick, good or bad, before its events.
  virtual void read(const Reading&) {}
  // What a setting was measured to cost, as it enters the memory.
  virtual void learn(const Observation&) {}
  // The power cap in mW at `now`; nullopt where the source sets none.
  virtual std::optional<std::int64_t> power_mw(Time now) = 0;
};

}  // namespace gearshift
