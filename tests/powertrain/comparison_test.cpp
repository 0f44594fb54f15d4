#include "policies/powertrain/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace gearshift {
namespace {

TEST(Comparison, QuartilesLieBetweenNeighbours) {
  const Quartiles five = quartiles({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(five.first, 2);
  EXPECT_DOUBLE_EQ(five.median, 3);
  EXPECT_DOUBLE_EQ(five.third, 4);
  const Quartiles two = quartiles({1, 2});
  EXPECT_DOUBLE_EQ(two.first, 1.25);
  EXPECT_DOUBLE_EQ(two.median, 1.5);
  EXPECT_DOUBLE_EQ(quartiles({7}).third, 7);
}

TEST(Comparison, PublishedFiguresBelongToOneMethodAndCount) {
  EXPECT_EQ(published_error("jetson-agx-orin", "mobnet", 16, Method::transferred, 50).time_percent,
            15.7);
  EXPECT_FALSE(
      published_error("jetson-agx-orin", "mobnet", 16, Method::transferred, 60).time_percent);
  EXPECT_FALSE(published_error("jetson-agx-orin", "made-up", 16, Method::afresh, 50).power_percent);
  EXPECT_EQ(published_error("jetson-agx-orin", "resnet", 16, Method::reference, 4368).power_percent,
            4.8);
  EXPECT_EQ(published_error("jetson-agx-orin-jetpack5", "resnet18", 8, Method::transferred, 50)
                .time_percent,
            10.84);
  EXPECT_FALSE(
      published_error("jetson-agx-orin", "resnet", 64, Method::transferred, 50).time_percent);
}

TEST(DrawCells, AreDistinctAndAFunctionOfTheSeed) {
  std::vector<std::size_t> cells(200);
  std::iota(cells.begin(), cells.end(), std::size_t{1000});
  std::vector<std::size_t> drawn = draw_cells(cells, 50, 7);
  EXPECT_EQ(drawn, draw_cells(cells, 50, 7));
  EXPECT_NE(drawn, draw_cells(cells, 50, 8));
  ASSERT_EQ(drawn.size(), 50U);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
  EXPECT_GE(drawn.front(), 1000U);
  EXPECT_LT(drawn.back(), 1200U);
  EXPECT_EQ(draw_cells(cells, 500, 7).size(), 200U);
}

}  // namespace
}  // namespace gearshift
