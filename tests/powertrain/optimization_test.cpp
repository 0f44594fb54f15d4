#include "policies/powertrain/optimization.h"

#include <gtest/gtest.h>

#include <array>

namespace gearshift {
namespace {

TEST(Optimization, CountsWhatIsOverAndByHowMuch) {
  const std::array<JudgedChoice, 4> choices = {{{0, 0}, {10, 0.4}, {-20, 3.6}, {4, 0}}};
  const OptimizationRow row = judged_row(Strategy::afresh, choices);
  EXPECT_EQ(row.solutions, 4U);
  EXPECT_DOUBLE_EQ(row.penalty_percent.median, 2);
  EXPECT_DOUBLE_EQ(row.area_w, 1);
  EXPECT_DOUBLE_EQ(row.over_percent, 50);
  EXPECT_DOUBLE_EQ(row.over_by_1w_percent, 25);
  EXPECT_DOUBLE_EQ(row.over_by_most_w, 3.6);
}

TEST(Optimization, ALimitThatIsMetExactlyIsKept) {
  const std::array<JudgedChoice, 2> choices = {{{0, 0}, {0, 1}}};
  const OptimizationRow row = judged_row(Strategy::random, choices);
  EXPECT_DOUBLE_EQ(row.over_percent, 50);
  EXPECT_DOUBLE_EQ(row.over_by_1w_percent, 0);  // by more than 1 W
}

}  // namespace
}  // namespace gearshift
