// A cap by the time of day and the day of the week, as the people see them whom it serves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "controller/clock.h"

namespace gearshift {

// What the clock on the wall shows. A value: where it comes from, and whether it jumps, is the
// caller's affair.
struct LocalTime {
  int weekday = 0;            // 0 is Monday, 6 Sunday
  Duration since_midnight{};  // as the clock shows it: 23 and 25 hour days show no other times
};

using LocalClock = std::function<LocalTime()>;

inline constexpr std::uint8_t kEveryDay = 0x7f;

// On each of `days` from `at` on, until the next step; nullopt lifts the cap.
struct TimetableStep {
  std::uint8_t days = kEveryDay;  // bit 0 is Monday
  Duration at{};                  // since midnight, below 24 hours
  std::optional<std::int64_t> power_mw;
};

// A step, and how many days ago it began, or ahead it begins: 0 is today, 7 at most.
struct PlacedStep {
  TimetableStep step;
  int days = 0;
};

// The newest step that the clock has passed, and the next one; nullopt without steps.
std::optional<PlacedStep> step_in_force(std::span<const TimetableStep> steps, const LocalTime& now);
std::optional<PlacedStep> next_step(std::span<const TimetableStep> steps, const LocalTime& now);

// The cap of the newest step that the clock has passed, looking back over a week; where two begin
// at the same time the later in the list holds. Nothing but the time shown counts: after a jump of
// the clock the answer is that of the new time; a step in an hour that is skipped holds from the
// hour's end on, and one in an hour that comes twice begins twice. Nullopt without steps.
std::optional<std::int64_t> timetable_cap(std::span<const TimetableStep> steps,
                                          const LocalTime& now);

}  // namespace gearshift
