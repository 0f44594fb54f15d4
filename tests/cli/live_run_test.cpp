#include "cli/live_run.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

TEST(LiveRun, WaitsForAStepOfTheGuardianOnce) {
  EXPECT_EQ(bar_patience(OnExit::restore).count(), 0) << "what puts knobs back waits itself";
  EXPECT_EQ(bar_patience(OnExit::keep), kStepPatience);
  EXPECT_EQ(bar_patience(OnExit::safe), kStepPatience);
}

}  // namespace
}  // namespace gearshift
