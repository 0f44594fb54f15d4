#include "cli/emulate_options.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

TEST(EmulationSummary, IsOfAllMinibatches) {
  EmulationSummary summary;
  EXPECT_EQ(summary.stddev_ms(), 0);
  summary.add(milliseconds(10), 16);
  EXPECT_EQ(summary.stddev_ms(), 0) << "one alone has no deviation";
  summary.add(milliseconds(14), 8);
  EXPECT_EQ(summary.ms.count, 2u);
  EXPECT_EQ(summary.samples, 24);
  EXPECT_NEAR(summary.ms.mean, 12, 1e-9);
  EXPECT_NEAR(summary.stddev_ms(), std::sqrt(8), 1e-9);
}

// The difference of two sums of squares has no digit left of it.
TEST(EmulationSummary, KeepsASmallDeviationOfLongMinibatches) {
  EmulationSummary summary;
  for (int i = 0; i < 100; ++i) summary.add(std::chrono::hours(24) + milliseconds(i % 2), 16);
  EXPECT_NEAR(summary.stddev_ms(), std::sqrt(25.0 / 99), 1e-3);
}

}  // namespace
}  // namespace gearshift
