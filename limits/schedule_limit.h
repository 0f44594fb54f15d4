// A cap that changes at given times: after the start of the run, and by the clock on the wall.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/limit_source.h"
#include "limits/timetable.h"

namespace gearshift {

// From `after` the start on, until the next step; nullopt lifts the cap.
struct ScheduleStep {
  Duration after{};
  std::optional<std::int64_t> power_mw;
};

class ScheduleLimit : public LimitSource {
 public:
  // Steps in any order; where two begin at the same time the later in the list holds.
  // The timetable is judged by `clock`, which is asked each time; the lower of the two caps binds.
  explicit ScheduleLimit(std::vector<ScheduleStep> steps, std::vector<TimetableStep> timetable = {},
                         LocalClock clock = {});

  std::string_view name() const override { return "schedule"; }
  void consume(const Event&) override {}
  // The run starts at the first call.
  Limit limit(Time now) override;

 private:
  std::vector<ScheduleStep> steps_;
  std::vector<TimetableStep> timetable_;
  LocalClock clock_;
  std::optional<Time> start_;
};

}  // namespace gearshift
