#include "limits/schedule_limit.h"

#include <algorithm>

namespace gearshift {

ScheduleLimit::ScheduleLimit(std::vector<ScheduleStep> steps, std::vector<TimetableStep> timetable,
                             LocalClock clock)
    : steps_(std::move(steps)), timetable_(std::move(timetable)), clock_(std::move(clock)) {
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const ScheduleStep& a, const ScheduleStep& b) { return a.after < b.after; });
}

Limit ScheduleLimit::limit(Time now) {
  if (!start_) start_ = now;
  std::optional<std::int64_t> power_mw;
  for (const ScheduleStep& step : steps_) {
    if (now - *start_ < step.after) break;
    power_mw = step.power_mw;
  }
  if (timetable_.empty() || !clock_) return {.power_mw = power_mw};
  const auto by_clock = timetable_cap(timetable_, clock_());
  if (!power_mw || (by_clock && *by_clock < *power_mw)) power_mw = by_clock;
  return {.power_mw = power_mw};
}

}  // namespace gearshift
