#include "policies/numerics/pareto_front.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace gearshift {
namespace {

using Indices = std::vector<std::size_t>;

TEST(ParetoFront, KeepsWhatNoOtherPointBeatsByItsFirstCost) {
  const std::vector<CostPair> points = {{3, 1}, {1, 3}, {2, 2}, {3, 3}, {2.5, 2}};
  EXPECT_EQ(pareto_front(points), (Indices{1, 2, 0}));
}

TEST(ParetoFront, TakesTheFirstOfEqualPoints) {
  const std::vector<CostPair> points = {{2, 2}, {1, 1}, {1, 1}, {1, 2}};
  EXPECT_EQ(pareto_front(points), (Indices{1}));
}

TEST(ParetoFront, LeavesOutWhatIsNotFinite) {
  const std::vector<CostPair> points = {{INFINITY, 0}, {0, INFINITY}, {NAN, 0}, {0, NAN}, {5, 5}};
  EXPECT_EQ(pareto_front(points), (Indices{4}));
  EXPECT_TRUE(pareto_front({}).empty());
  EXPECT_TRUE(pareto_front(std::span(points).first(4)).empty());
}

TEST(ParetoFront, AgreesWithTheDefinitionOnRandomPoints) {
  std::mt19937_64 engine(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<CostPair> points;
    for (int i = 0; i < 40; ++i) {
      points.push_back({static_cast<double>(engine() % 20), static_cast<double>(engine() % 20)});
    }
    Indices expected;
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false;
      for (std::size_t j = 0; j < points.size(); ++j) {
        const bool no_worse =
            points[j].first <= points[i].first && points[j].second <= points[i].second;
        const bool differs =
            points[j].first != points[i].first || points[j].second != points[i].second;
        beaten = beaten || (no_worse && (differs || j < i));
      }
      if (!beaten) expected.push_back(i);
    }
    std::sort(expected.begin(), expected.end(), [&](std::size_t one, std::size_t other) {
      return points[one].first < points[other].first;
    });
    EXPECT_EQ(pareto_front(points), expected);
  }
}

}  // namespace
}  // namespace gearshift
