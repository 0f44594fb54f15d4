// All sources of limits: what they say together, whose cap binds, and what each hears of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/limit_source.h"
#include "controller/observation.h"
#include "controller/serving.h"

namespace gearshift {

// The cap that binds.
struct Cap {
  std::optional<std::int64_t> power_mw{};  // at most, mW; nullopt: none does
  std::string_view source = "none";        // who says it: a source, or `latency floor`
  bool moves = false;                      // by itself: policies see it in steps
  bool planned = false;  // by a plan, which may serve nobody: nothing is known to fit it that does

  // Where the other one is lower, or the first: it binds instead.
  void lower(const Cap& other);
};

class LimitSources {
 public:
  // Borrows the sources. They are asked in order; of equal caps the first one's binds.
  explicit LimitSources(std::span<LimitSource* const> sources);

  void consume(const Event& event);
  void read(const Reading& reading);
  void learn(const Observation& observation);

  // Asks each what it says now. Call combine() next.
  void ask(Time now);
  // One of them says its cap by a plan, which gives way to requests that must be answered.
  bool plans() const;
  // The least of what was answered. `floor_mw`: of requests that must be answered, the least cap at
  // which something is known to do so, 0: nothing is, and a plan is not held, under which it might
  // never be found; nullopt: none must be. `lowest_is_over`: the lowest mode is over the cap.
  void combine(std::optional<std::int64_t> floor_mw, bool lowest_is_over, Serving& serving);
  // Whoever says that power ends soon leaves none from now on.
  void leave_none();
  // Each hears what the others come to, and whether work is saved. After all of the above.
  void hear(bool work_is_saved);

  const Cap& cap() const { return cap_; }
  // The cap of `planned`, mW; nullopt: it is of no plan.
  std::optional<std::int64_t> plan_mw() const {
    return cap_.planned ? cap_.power_mw : std::nullopt;
  }
  // The source that says that power does; empty: none.
  std::string_view ends_soon() const { return ends_soon_; }

 private:
  Cap plan(const LimitSource& source, const Limit& said, std::optional<std::int64_t> floor_mw,
           bool lowest_is_over, Serving& serving) const;

  std::vector<LimitSource*> sources_;
  std::vector<Limit> said_;  // by each of them
  Cap cap_;
  std::string_view ends_soon_;
};

}  // namespace gearshift
