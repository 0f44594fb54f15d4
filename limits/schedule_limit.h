// A cap that changes at given times after the start of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/limit_source.h"

namespace gearshift {

// From `after` the start on, until the next step; nullopt lifts the cap.
struct ScheduleStep {
  Duration after{};
  std::optional<std::int64_t> power_mw;
};

class ScheduleLimit : public LimitSource {
 public:
  // Steps in any order; where two begin at the same time the later in the list holds.
  explicit ScheduleLimit(std::vector<ScheduleStep> steps);

  std::string_view name() const override { return "schedule"; }
  void consume(const Event&) override {}
  // The run starts at the first call.
  std::optional<std::int64_t> power_mw(Time now) override;

 private:
  std::vector<ScheduleStep> steps_;
  std::optional<Time> start_;
};

}  // namespace gearshift
