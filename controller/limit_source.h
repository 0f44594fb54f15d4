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

// Whether a cap, mW, is power that something may be over, and not one of these words, or 0.
constexpr bool is_power(std::int64_t cap_mw) { return cap_mw > kLowestModeMw; }

// The step, mW, in which caps that move by themselves change: the largest divisor of 500 mW that is
// no more than 2 % of the power, and 1 mW at the least. Where it becomes another one is a multiple
// of both, so that what is rounded up to a step stays when it is rounded down.
constexpr std::int64_t cap_step_mw(std::int64_t power_mw) {
  for (const std::int64_t step_mw : {500, 250, 100, 50, 20, 10, 5, 2}) {
    if (power_mw >= 50 * step_mw) return step_mw;
  }
  return 1;
}
// The next such step below and above, mW.
constexpr std::int64_t cap_step_down(std::int64_t power_mw) {
  const std::int64_t step_mw = cap_step_mw(power_mw);
  return power_mw / step_mw * step_mw;
}
constexpr std::int64_t cap_step_up(std::int64_t power_mw) {
  const std::int64_t step_mw = cap_step_mw(power_mw);
  return (power_mw + step_mw - 1) / step_mw * step_mw;
}

// What a source says at one time.
struct Limit {
  std::optional<std::int64_t> power_mw{};  // at most, mW; nullopt: the source sets no cap
  // At most by a plan: where a server must answer in time, that comes first. Nullopt: no plan caps.
  std::optional<std::int64_t> planned_mw{};
  bool ends_soon = false;  // power will: who can save its work is asked to, and waits from then on
  // The source computes its caps from what it reads, and they may tremble: policies see them in
  // steps. False: somebody chose them, and policies see them as they are.
  bool moves = false;

  // The lower of both.
  std::optional<std::int64_t> least_mw() const {
    if (!power_mw || !planned_mw) return power_mw ? power_mw : planned_mw;
    return *power_mw < *planned_mw ? power_mw : planned_mw;
  }
  friend bool operator==(const Limit&, const Limit&) = default;
};

// What holds beside a source.
struct Prevailing {
  std::optional<std::int64_t>
      others_mw{};             // the least cap of the other sources; nullopt: none caps
  bool work_is_saved = false;  // since power ends soon, and the managed workloads wait
  friend bool operator==(const Prevailing&, const Prevailing&) = default;
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
  // Once a tick, after all were asked for their limits.
  virtual void hear(const Prevailing&) {}
  // The lowest cap that it says, mW; nullopt where it sets none.
  std::optional<std::int64_t> power_mw(Time now) { return limit(now).least_mw(); }
};

}  // namespace gearshift
