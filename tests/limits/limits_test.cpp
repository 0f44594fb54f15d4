#include <gtest/gtest.h>

#include "limits/operator_limit.h"
#include "limits/schedule_limit.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

Event cap_event(std::int64_t power_mw) {
  Event event;
  event.type = EventType::cap;
  event.power_mw = power_mw;
  return event;
}

TEST(OperatorLimit, StartsWithTheCommandLineAndFollowsCapEvents) {
  OperatorLimit limit(30000);
  EXPECT_EQ(limit.power_mw(Time{}), 30000);
  limit.consume(cap_event(20000));
  EXPECT_EQ(limit.power_mw(Time{}), 20000);
}

TEST(OperatorLimit, ZeroLiftsTheCapAndNegativeIsIgnored) {
  OperatorLimit limit(30000);
  limit.consume(cap_event(-1));
  EXPECT_EQ(limit.power_mw(Time{}), 30000);
  limit.consume(cap_event(0));
  EXPECT_EQ(limit.power_mw(Time{}), std::nullopt);
}

TEST(OperatorLimit, IgnoresOtherEvents) {
  OperatorLimit limit(std::nullopt);
  Event event = cap_event(20000);
  event.type = EventType::minibatch;
  limit.consume(event);
  EXPECT_EQ(limit.power_mw(Time{}), std::nullopt);
}

TEST(ScheduleLimit, StepsAtTheGivenTimeAndNotBefore) {
  ScheduleLimit limit({{milliseconds(2000), 20000}, {milliseconds(1000), 30000}});
  const Time start{milliseconds(500)};
  EXPECT_EQ(limit.power_mw(start), std::nullopt);
  EXPECT_EQ(limit.power_mw(start + milliseconds(999)), std::nullopt);
  EXPECT_EQ(limit.power_mw(start + milliseconds(1000)), 30000);
  EXPECT_EQ(limit.power_mw(start + milliseconds(1999)), 30000);
  EXPECT_EQ(limit.power_mw(start + milliseconds(2000)), 20000);
}

TEST(ScheduleLimit, AStepWithoutPowerLiftsTheCap) {
  ScheduleLimit limit({{milliseconds(0), 20000}, {milliseconds(10), std::nullopt}});
  EXPECT_EQ(limit.power_mw(Time{}), 20000);
  EXPECT_EQ(limit.power_mw(Time{milliseconds(10)}), std::nullopt);
}

}  // namespace
}  // namespace gearshift
