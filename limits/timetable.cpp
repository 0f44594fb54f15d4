#include "limits/timetable.h"

namespace gearshift {
namespace {

constexpr int kWeek = 7;

bool on_day(const TimetableStep& step, int weekday) { return (step.days >> weekday & 1) != 0; }

}  // namespace

std::optional<PlacedStep> step_in_force(std::span<const TimetableStep> steps,
                                        const LocalTime& now) {
  for (int back = 0; back <= kWeek; ++back) {
    const int weekday = (now.weekday + kWeek - back) % kWeek;
    const TimetableStep* newest = nullptr;
    for (const TimetableStep& step : steps) {
      if (!on_day(step, weekday) || (back == 0 && step.at > now.since_midnight)) continue;
      if (newest == nullptr || step.at >= newest->at) newest = &step;
    }
    if (newest != nullptr) return PlacedStep{*newest, back};
  }
  return std::nullopt;
}

std::optional<PlacedStep> next_step(std::span<const TimetableStep> steps, const LocalTime& now) {
  for (int ahead = 0; ahead <= kWeek; ++ahead) {
    const int weekday = (now.weekday + ahead) % kWeek;
    const TimetableStep* next = nullptr;
    for (const TimetableStep& step : steps) {
      if (!on_day(step, weekday) || (ahead == 0 && step.at <= now.since_midnight)) continue;
      if (next == nullptr || step.at <= next->at) next = &step;
    }
    if (next != nullptr) return PlacedStep{*next, ahead};
  }
  return std::nullopt;
}

std::optional<std::int64_t> timetable_cap(std::span<const TimetableStep> steps,
                                          const LocalTime& now) {
  const std::optional<PlacedStep> placed = step_in_force(steps, now);
  return placed ? placed->step.power_mw : std::nullopt;
}

}  // namespace gearshift
