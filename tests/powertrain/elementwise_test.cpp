#include "policies/powertrain/module/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gearshift {
namespace {

TEST(Elementwise, AddsBiasesAndRectifies) {
  std::vector<float> values = {1, -2, 3, -4, 5, -6};
  const std::vector<float> bias = {1, 1, -4};
  std::vector<float> rectified = values;
  add_bias(values.data(), bias.data(), 2, 3);
  EXPECT_EQ(values, (std::vector<float>{2, -1, -1, -3, 6, -10}));
  add_bias_and_rectify(rectified.data(), bias.data(), 2, 3);
  EXPECT_EQ(rectified, (std::vector<float>{2, 0, 0, 0, 6, 0}));
  std::vector<float> sums(3, 99);
  sum_columns(sums.data(), values.data(), 2, 3);
  EXPECT_EQ(sums, (std::vector<float>{-1, 5, -11}));
}

TEST(Elementwise, LetsGradientsThroughWhereTheOutputIsAboveZero) {
  std::vector<float> gradient = {1, 2, -3};
  const std::vector<float> outputs = {0.5F, 0, 2};
  rectify_gradient(gradient.data(), outputs.data(), 1.25F, 3);
  EXPECT_EQ(gradient, (std::vector<float>{1.25F, 0, -3.75F}));
}

TEST(Elementwise, LeavesOutItsPartOfTheNeuronsAndKeepsTheMean) {
  std::mt19937_64 engine(1);
  Dropout dropout(0.1, engine);
  std::vector<float> values(100'001, 1.0F);
  dropout.apply(values.data(), values.size());
  double sum = 0, left_out = 0;
  for (const float value : values) {
    sum += value;
    left_out += value == 0 ? 1 : 0;
  }
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(left_out / count, 0.1, 0.005);
  EXPECT_NEAR(sum / count, 1, 0.005);
  EXPECT_TRUE(Dropout(0, engine).leaves_all());
}

TEST(Elementwise, AdamStepsAsItsPaperHasIt) {
  const std::size_t size = 37;  // no multiple of a vector
  std::vector<float> values(size), gradient(size);
  std::vector<double> expected(size), first(size), second(size);
  Adam adam(size, 0.01);
  for (int step = 1; step <= 5; ++step) {
    for (std::size_t i = 0; i < size; ++i) {
      gradient[i] = static_cast<float>(std::sin(static_cast<double>(i * 7 + 3) * step));
      const double slope = gradient[i];
      first[i] = 0.9 * first[i] + 0.1 * slope;
      second[i] = 0.999 * second[i] + 0.001 * slope * slope;
      expected[i] -= 0.01 * (first[i] / (1 - std::pow(0.9, step))) /
                     (std::sqrt(second[i] / (1 - std::pow(0.999, step))) + 1e-8);
    }
    adam.step(values.data(), gradient.data());
  }
  for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(values[i], expected[i], 2e-5) << i;
}

}  // namespace
}  // namespace gearshift
