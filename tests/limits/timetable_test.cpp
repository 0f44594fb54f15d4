#include "limits/timetable.h"

#include <gtest/gtest.h>

#include "limits/schedule_limit.h"

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int kMonday = 0;
constexpr int kFriday = 4;
constexpr int kSaturday = 5;
constexpr int kSunday = 6;
constexpr std::uint8_t kWorkdays = 0b001'1111;

// On workdays 20 W from 8 to 18 o'clock, else 40 W; on Sundays no cap from noon on.
const std::vector<TimetableStep> kSteps = {{kWorkdays, hours(8), 20'000},
                                           {kWorkdays, hours(18), 40'000},
                                           {1 << kSunday, hours(12), std::nullopt}};

std::optional<std::int64_t> cap(int weekday, Duration since_midnight) {
  return timetable_cap(kSteps, {weekday, since_midnight});
}

TEST(Timetable, StepsAtTheSecondAndNotBefore) {
  EXPECT_EQ(cap(kFriday, hours(8) - seconds(1)), 40'000);
  EXPECT_EQ(cap(kFriday, hours(8)), 20'000);
  EXPECT_EQ(cap(kFriday, hours(18) - seconds(1)), 20'000);
  EXPECT_EQ(cap(kFriday, hours(18)), 40'000);
}

TEST(Timetable, HoldsOverMidnightAndOverDaysWithoutSteps) {
  EXPECT_EQ(cap(kSaturday, hours(0)), 40'000);
  EXPECT_EQ(cap(kSaturday, hours(23)), 40'000);
  EXPECT_EQ(cap(kSunday, hours(12) - seconds(1)), 40'000);
  EXPECT_EQ(cap(kSunday, hours(12)), std::nullopt);
  EXPECT_EQ(cap(kMonday, hours(8) - seconds(1)), std::nullopt);
  EXPECT_EQ(cap(kMonday, hours(8)), 20'000);
}

TEST(Timetable, ASingleStepHoldsFromOneWeekToTheNext) {
  const std::vector<TimetableStep> steps = {{1 << kMonday, hours(8), 10'000}};
  EXPECT_EQ(timetable_cap(steps, {kMonday, hours(7)}), 10'000);
  EXPECT_EQ(timetable_cap(steps, {kMonday, hours(9)}), 10'000);
  EXPECT_EQ(timetable_cap({}, {kMonday, hours(9)}), std::nullopt);
}

TEST(Timetable, OfEqualTimesTheLaterInTheListHolds) {
  const std::vector<TimetableStep> steps = {{kEveryDay, hours(8), 10'000},
                                            {kEveryDay, hours(8), 12'000}};
  EXPECT_EQ(timetable_cap(steps, {kMonday, hours(8)}), 12'000);
}

// Only the time shown counts: a clock that jumps, or skips or repeats an hour, leaves nothing
// behind.
TEST(ScheduleLimit, FollowsAClockThatJumps) {
  LocalTime shown{kSunday, hours(1) + minutes(59)};
  const std::vector<TimetableStep> steps = {{kEveryDay, hours(0), 40'000},
                                            {kEveryDay, hours(2) + minutes(30), 20'000}};
  ScheduleLimit limit({}, steps, [&shown] { return shown; });
  EXPECT_EQ(limit.power_mw(Time{}), 40'000);
  shown.since_midnight = hours(3);  // summer time begins: 02:30 is never shown
  EXPECT_EQ(limit.power_mw(Time{}), 20'000);
  shown.since_midnight = hours(2);  // it ends: the hour is shown again
  EXPECT_EQ(limit.power_mw(Time{}), 40'000);
  shown = {kSaturday, hours(23)};  // set back by a day
  EXPECT_EQ(limit.power_mw(Time{}), 20'000);
}

TEST(ScheduleLimit, TheLowerOfItsTwoKindsOfStepsBinds) {
  LocalTime shown{kMonday, hours(7)};
  ScheduleLimit limit({{seconds(0), 30'000}, {seconds(10), std::nullopt}}, kSteps,
                      [&shown] { return shown; });
  EXPECT_EQ(limit.power_mw(Time{}), 30'000);  // the timetable sets none
  shown.since_midnight = hours(8);
  EXPECT_EQ(limit.power_mw(Time{}), 20'000);
  EXPECT_EQ(limit.power_mw(Time{} + seconds(10)), 20'000);
  shown.since_midnight = hours(18);
  EXPECT_EQ(limit.power_mw(Time{} + seconds(9)), 30'000);
}

TEST(Timetable, TellsSinceWhenAStepHoldsAndWhichIsNext) {
  const auto held = step_in_force(kSteps, {kFriday, hours(9)});
  const auto next = next_step(kSteps, {kFriday, hours(9)});
  ASSERT_TRUE(held && next);
  EXPECT_EQ(held->step.at, hours(8));
  EXPECT_EQ(held->days, 0);
  EXPECT_EQ(next->step.at, hours(18));
  EXPECT_EQ(next->days, 0);
  const auto since_friday = step_in_force(kSteps, {kSunday, hours(1)});
  EXPECT_EQ(since_friday->step.at, hours(18));
  EXPECT_EQ(since_friday->days, 2);
  const auto on_monday = next_step(kSteps, {kSunday, hours(12)});
  EXPECT_EQ(on_monday->step.at, hours(8));
  EXPECT_EQ(on_monday->days, 1) << "what begins now holds, and is not the next";
}

TEST(Timetable, ItsOnlyStepIsTheNextOneToo) {
  const std::vector<TimetableStep> only = {{1 << kFriday, hours(8), 20'000}};
  EXPECT_EQ(next_step(only, {kFriday, hours(8)})->days, 7);
  EXPECT_EQ(step_in_force(only, {kFriday, hours(7)})->days, 7);
  EXPECT_FALSE(next_step({}, {kFriday, hours(8)}));
  EXPECT_FALSE(step_in_force({}, {kFriday, hours(8)}));
}

}  // namespace
}  // namespace gearshift
