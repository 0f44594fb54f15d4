#include "limits/schedule_limit.h"

#include <algorithm>

namespace gearshift {

ScheduleLimit::ScheduleLimit(std::vector<ScheduleStep> steps) : steps_(std::move(steps)) {
  std::stable_sort(steps_.begin(), steps_.end(),
                   [](const ScheduleStep& a, const ScheduleStep& b) { return a.after < b.after; });
}

std::optional<std::int64_t> ScheduleLimit::power_mw(Time now) {
  if (!start_) start_ = now;
  std::optional<std::int64_t> power_mw;
  for (const ScheduleStep& step : steps_) {
    if (now - *start_ < step.after) break;
    power_mw = step.power_mw;
  }
  return power_mw;
}

}  // namespace gearshift
