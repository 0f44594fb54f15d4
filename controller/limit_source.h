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

// What one that knows too little answers: the lowest mode is held, and the workloads run in it. No
// board draws so little either.
inline constexpr std::int64_t kLowestModeMw = 2;

// What a source says at one time.
struct Limit {
  std::optional<std::int64_t> power_mw{};  // at most, mW; nullopt: the source sets no cap
  // At most by a plan: where a server must answer in time, that comes first. Nullopt: no plan caps.
  std::optional<std::int64_t> planned_mw{};
  bool ends_soon = false;  // power will: who can save its work is asked to, and waits from then on

  // The lower of both.
  std::optional<std::int64_t> least_mw() const {
    if (!power_mw || !planned_mw) return power_mw ? power_mw : planned_mw;
    return *power_mw < *planned_mw ? power_mw : planned_mw;
  }
  friend bool operator==(const Limit&, const Limit&) = default;
};

class LimitSource {
 public:
  virtual ~LimitSource() = default;
  virtual std::string_view name() const = 0;  // "operator", "schedule", "battery", "thermal"
  virtual void consume(const Event& event) = 0;
  // Every reading of the tick, good or bad, before its events.
  virtual void read(const Reading&) {}
  // What a setting was measured to cost, as it enters the memory.
  virtual void learn(const Observation&) {}
  virtual Limit limit(Time now) = 0;
  // The least cap at which requests are known to be answered in time, mW; 0: nobody must answer
  // any, or nothing is known to. A plan that goes below it for a while leaves them unanswered.
  virtual void serve_above(std::int64_t power_mw) { static_cast<void>(power_mw); }
  // The lowest cap that it says, mW; nullopt where it sets none.
  std::optional<std::int64_t> power_mw(Time now) { return limit(now).least_mw(); }
};

}  // namespace gearshift
