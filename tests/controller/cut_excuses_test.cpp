#include "controller/cut_excuses.h"

#include <gtest/gtest.h>

#include "tests/fakes/gpu_gears.h"

namespace gearshift {
namespace {

using fakes::gpu_gear;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(CutExcuses, EachSettingHasOneAndTwoDoNotRenewEachOthers) {
  CutExcuses excuses;
  EXPECT_FALSE(excuses.excused(gpu_gear(1), Time{}));
  EXPECT_TRUE(excuses.excuse(gpu_gear(1), Time{}));
  EXPECT_TRUE(excuses.excuse(gpu_gear(2), Time{} + seconds(1)));
  EXPECT_FALSE(excuses.excuse(gpu_gear(1), Time{} + seconds(2)));
  EXPECT_FALSE(excuses.excuse(gpu_gear(2), Time{} + seconds(3)));
  EXPECT_TRUE(excuses.excused(gpu_gear(1), Time{} + seconds(3)));
}

TEST(CutExcuses, RestsForTenMinutesFromTheOneThatWasGiven) {
  CutExcuses excuses;
  EXPECT_TRUE(excuses.excuse(gpu_gear(1), Time{}));
  EXPECT_FALSE(excuses.excuse(gpu_gear(1), Time{} + minutes(10) - Duration(1)));
  EXPECT_FALSE(excuses.excused(gpu_gear(1), Time{} + minutes(10)));
  EXPECT_TRUE(excuses.excuse(gpu_gear(1), Time{} + minutes(10)));
}

TEST(CutExcuses, NoMoreThanSoManyHaveOneAtATime) {
  CutExcuses excuses;
  for (std::size_t i = 0; i < CutExcuses::kMost; ++i) {
    ASSERT_TRUE(excuses.excuse(gpu_gear(static_cast<std::int64_t>(i)), Time{} + seconds(i)));
  }
  EXPECT_FALSE(excuses.excuse(gpu_gear(1000), Time{} + minutes(5)));
  EXPECT_TRUE(excuses.excuse(gpu_gear(1000), Time{} + minutes(10))) << "the first has rested";
  EXPECT_FALSE(excuses.excuse(gpu_gear(0), Time{} + minutes(10))) << "and its place is taken";
}

}  // namespace
}  // namespace gearshift
