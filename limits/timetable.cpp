#include "limits/timetable.h"

namespace gearshift {
namespace {

constexpr int kWeek = 7;

}  // namespace

std::optional<std::int64_t> timetable_cap(std::span<const TimetableStep> steps,
                                          const LocalTime& now) {
  for (int back = 0; back <= kWeek; ++back) {
    const int weekday = (now.weekday + kWeek - back % kWeek) % kWeek;
    const TimetableStep* newest = nullptr;
    for (const TimetableStep& step : steps) {
      const bool on_day = (step.days >> weekday & 1) != 0;
      if (!on_day || (back == 0 && step.at > now.since_midnight)) continue;
      if (newest == nullptr || step.at >= newest->at) newest = &step;
    }
    if (newest != nullptr) return newest->power_mw;
  }
  return std::nullopt;
}

}  // namespace gearshift
