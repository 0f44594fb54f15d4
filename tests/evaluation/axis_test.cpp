#include "evaluation/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "evaluation/marker.h"

namespace gearshift {
namespace {

TEST(Axis, PlacesItsEndsInsideAndKeepsOrder) {
  for (const Spacing spacing : {Spacing::linear, Spacing::logarithmic, Spacing::root}) {
    const Axis axis("power, W", spacing, 10, 50);
    double before = -1;
    for (const double value : {10.0, 12.0, 20.0, 35.0, 50.0}) {
      EXPECT_GT(axis.place(value), before);
      before = axis.place(value);
    }
    EXPECT_LT(before, 1);
    EXPECT_EQ(axis.place(1000), 1);
    EXPECT_EQ(axis.place(-5), 0);
  }
}

TEST(Axis, WritesRoundNumbersFarEnoughApart) {
  EXPECT_THAT(Axis("", Spacing::linear, 10, 50).ticks(), testing::ElementsAre(10, 20, 30, 40, 50));
  EXPECT_THAT(Axis("", Spacing::logarithmic, 50, 3000).ticks(),
              testing::ElementsAre(50, 100, 200, 500, 1000, 2000));
  EXPECT_THAT(Axis("", Spacing::root, 0, 100).ticks(), testing::ElementsAre(0, 1, 5, 20, 50, 100));
  for (const double high : {0.2, 3.0, 47.0, 999.0, 1e6}) {
    for (const Spacing spacing : {Spacing::linear, Spacing::logarithmic, Spacing::root}) {
      const Axis axis("", spacing, spacing == Spacing::logarithmic ? high / 50 : 0, high);
      const std::vector<double> ticks = axis.ticks();
      EXPECT_GE(ticks.size(), 3u) << high;
      EXPECT_LE(ticks.size(), 12u) << high;
      for (std::size_t i = 1; i < ticks.size(); ++i) {
        EXPECT_GE(axis.place(ticks[i]) - axis.place(ticks[i - 1]), 0.08) << high;
      }
    }
  }
}

TEST(Axis, HasNumbersWhereItsRangeLiesBetweenTwoRoundOnes) {
  EXPECT_THAT(Axis("", Spacing::logarithmic, 31.2, 39.4).ticks(),
              testing::ElementsAre(32, 34, 36, 38));
  for (const double wider : {1.001, 1.02, 1.1, 1.4, 1.9, 4.0}) {
    for (const double low : {0.013, 1.06, 2.2, 31.0, 760.0}) {
      EXPECT_GE(Axis("", Spacing::logarithmic, low, low * wider).ticks().size(), 2u)
          << low << " times " << wider;
    }
  }
}

TEST(Axis, StandsWhereAllValuesAreOne) {
  for (const Spacing spacing : {Spacing::linear, Spacing::logarithmic, Spacing::root}) {
    for (const double value : {0.0, 30.0}) {
      const Axis axis("", spacing, value, value);
      EXPECT_GE(axis.place(value), 0);
      EXPECT_LE(axis.place(value), 1);
      EXPECT_LE(axis.ticks().size(), 12u);
    }
  }
}

TEST(Marker, IsNeverTheSameForTwoOfSixtyFour) {
  std::set<std::string> seen;
  for (std::size_t series = 0; series < 64; ++series) seen.insert(marker(series, 7, 7, 4));
  EXPECT_EQ(seen.size(), 64u);
}

}  // namespace
}  // namespace gearshift
