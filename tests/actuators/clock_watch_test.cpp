#include "actuators/clock_watch.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(ClockWatch, AClockIsFollowedWithinOnePercent) {
  EXPECT_TRUE(ClockWatch::follows(1'300'500, 1'300'500));
  EXPECT_TRUE(ClockWatch::follows(990'000, 1'000'000));
  EXPECT_TRUE(ClockWatch::follows(1'010'000, 1'000'000));
  EXPECT_FALSE(ClockWatch::follows(989'999, 1'000'000));
  EXPECT_FALSE(ClockWatch::follows(1'010'001, 1'000'000));
}

TEST(ClockWatch, AClockThatNeverFollowedIsToldAtOnce) {
  ClockWatch watch;
  watch.expect(1'300'500);
  EXPECT_EQ(watch.judge(1'109'250), 1'109'250);
  EXPECT_EQ(watch.judge(1'300'400), 1'300'500) << "a rounded clock is told as what was wanted";
}

TEST(ClockWatch, AClockThatFollowedMayBeOffForOneRead) {
  ClockWatch watch;
  watch.expect(1'300'500);
  watch.judge(1'300'500);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(watch.judge(1'109'250), 1'300'500);
    EXPECT_EQ(watch.judge(1'300'500), 1'300'500);
  }
  EXPECT_EQ(watch.judge(1'109'250), 1'300'500);
  EXPECT_EQ(watch.judge(1'109'250), 1'109'250);
}

TEST(ClockWatch, AClockThatWandersIsToldAsTheFirstValueSeenOff) {
  ClockWatch watch;
  watch.expect(1'300'500);
  watch.judge(1'300'500);
  watch.judge(1'200'000);
  EXPECT_EQ(watch.judge(1'109'250), 1'109'250);
  EXPECT_EQ(watch.judge(918'000), 1'109'250);
  EXPECT_EQ(watch.judge(1'200'000), 1'109'250);
  EXPECT_EQ(watch.judge(1'300'500), 1'300'500);
  watch.expect(918'000);
  EXPECT_EQ(watch.judge(1'109'250), 1'109'250) << "another value begins anew";
}

}  // namespace
}  // namespace gearshift
