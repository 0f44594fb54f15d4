#include "policies/numerics/normal_inverse_gamma.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace gearshift {
namespace {

TEST(NormalInverseGamma, UpdatesAsTheClosedFormSays) {
  const NormalInverseGamma prior{.mean = 1, .weight = 2, .shape = 3, .scale = 4};
  const std::array values{4.0, 6.0};
  const NormalInverseGamma after = prior.updated(values);
  EXPECT_DOUBLE_EQ(after.mean, (2 * 1 + 10) / 4.0);
  EXPECT_DOUBLE_EQ(after.weight, 4);
  EXPECT_DOUBLE_EQ(after.shape, 4);
  EXPECT_DOUBLE_EQ(after.scale, 4 + 1 + 2 * 2 * 16 / 8.0);
}

TEST(NormalInverseGamma, OneByOneIsAllAtOnce) {
  const NormalInverseGamma prior{.mean = 0.3, .weight = 0.5, .shape = 1.5, .scale = 0.2};
  const std::array values{1.0, 2.5, -0.5, 4.0};
  NormalInverseGamma one = prior;
  for (const double value : values) one = one.updated({&value, 1});
  const NormalInverseGamma all = prior.updated(values);
  EXPECT_NEAR(one.mean, all.mean, 1e-12);
  EXPECT_NEAR(one.scale, all.scale, 1e-12);
}

TEST(NormalInverseGamma, NoValuesChangeNothing) {
  const NormalInverseGamma prior{.mean = 1, .weight = 2, .shape = 3, .scale = 4};
  EXPECT_EQ(prior.updated({}).mean, 1);
  EXPECT_EQ(prior.updated({}).weight, 2);
}

// Student's t of 2 shape degrees of freedom has variance scale / (shape - 1) / weight.
TEST(NormalInverseGamma, DrawsHaveTheMomentsOfStudentsT) {
  for (const double shape : {3.0, 12.0}) {
    const NormalInverseGamma belief{.mean = 7, .weight = 4, .shape = shape, .scale = 2};
    std::mt19937_64 random(1);
    constexpr int kDraws = 40'000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double apart = belief.draw(random) - 7;
      sum += apart;
      squares += apart * apart;
    }
    const double variance = 2 / (shape - 1) / 4;
    EXPECT_NEAR(sum / kDraws, 0, 4 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws / variance, 1, 0.08) << shape;
  }
}

TEST(NormalInverseGamma, ABeliefWithoutVarianceDrawsItsMean) {
  const NormalInverseGamma belief{.mean = 7, .weight = 1, .shape = 0.5, .scale = 0};
  std::mt19937_64 random(1);
  EXPECT_EQ(belief.draw(random), 7);
}

// Precisions that are drawn for such a shape are mostly below the least double.
TEST(NormalInverseGamma, DrawsFiniteValuesWhateverItsShape) {
  std::mt19937_64 random(1);
  for (const double scale : {0.0, 1.0}) {
    const NormalInverseGamma belief{.mean = 0, .weight = 1, .shape = 0.001, .scale = scale};
    for (int i = 0; i < 2000; ++i) {
      const double drawn = belief.draw(random);
      ASSERT_TRUE(std::isfinite(drawn));
      if (scale == 0) {
        ASSERT_EQ(drawn, 0);
      }
    }
  }
}

}  // namespace
}  // namespace gearshift
