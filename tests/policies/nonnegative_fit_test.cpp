#include "policies/numerics/nonnegative_fit.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/least_squares.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

TEST(NonnegativeFit, FindsTheWeightsThatMadeTheRows) {
  const std::array<double, 6> features{1, 2, 1, 5, 1, 9};
  const std::vector<FitRow> rows{
      {{&features[0], 2}, 7}, {{&features[2], 2}, 13}, {{&features[4], 2}, 21}};
  const std::array<double, 2> expected{1, 1};
  std::array<double, 2> x{};
  nonnegative_fit(rows, expected, 1e-6, x);
  EXPECT_NEAR(x[0], 3, 1e-2);
  EXPECT_NEAR(x[1], 2, 1e-2);
}

TEST(NonnegativeFit, TakesZeroWhereTheRowsWantLess) {
  const std::array<double, 4> features{1, 1, 1, 3};
  const std::vector<FitRow> rows{{{&features[0], 2}, 4}, {{&features[2], 2}, 2}};  // a slope of -1
  const std::array<double, 2> expected{0, 0};
  std::array<double, 2> x{};
  nonnegative_fit(rows, expected, 1e-6, x);
  EXPECT_EQ(x[1], 0);
  EXPECT_NEAR(x[0], 3, 1e-3);
}

TEST(NonnegativeFit, KeepsWhatIsExpectedWhereNoRowSaysOtherwise) {
  const std::array<double, 2> features{1, 0};
  const std::vector<FitRow> rows{{{&features[0], 2}, 5}};
  const std::array<double, 2> expected{2, 0.7};
  std::array<double, 2> x{};
  nonnegative_fit(rows, expected, 0.1, x);
  EXPECT_NEAR(x[1], 0.7, 1e-9);
  EXPECT_NEAR(x[0], (5 + 0.1 * 2) / 1.1, 1e-5);
}

TEST(NonnegativeFit, LetsABoundRowBeAboveItsTargetAndNotBelow) {
  const std::array<double, 1> one{1};
  const std::array<double, 1> expected{3};
  std::array<double, 1> x{};
  nonnegative_fit(std::vector<FitRow>{{one, 2, 1, true}}, expected, 0.01, x);
  EXPECT_NEAR(x[0], 3, 1e-9);
  nonnegative_fit(std::vector<FitRow>{{one, 8, 1, true}}, expected, 0.01, x);
  EXPECT_NEAR(x[0], (8 + 0.03) / 1.01, 1e-5);
}

TEST(NonnegativeFit, FindsTheMinimumWhereRowsHardlyDiffer) {
  const std::array<double, 6> features{1, 1, 1, 1.02, 1, 0.98};
  const std::vector<FitRow> rows{
      {{&features[0], 2}, 2}, {{&features[2], 2}, 2.02}, {{&features[4], 2}, 1.98}};
  const std::array<double, 2> expected{0, 0};
  std::array<double, 2> x{};
  nonnegative_fit(rows, expected, 1e-9, x);
  EXPECT_NEAR(x[0], 1, 1e-5);
  EXPECT_NEAR(x[1], 1, 1e-5);
}

// A problem drawn at random: weights that the rows want below 0, rows alike, rows that are bounds.
struct DrawnProblem {
  std::vector<double> features;
  std::vector<FitRow> rows;
  std::vector<double> expected;
  double pull = 0;

  explicit DrawnProblem(std::mt19937_64& random) {
    const auto draw = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    const std::size_t columns = 1 + random() % kMaxFitColumns;
    const std::size_t count = 1 + random() % 40;
    for (std::size_t i = 0; i < columns; ++i) expected.push_back(2 * draw() - 0.5);
    pull = std::pow(10, -4 * draw());
    for (std::size_t i = 0; i < count * columns; ++i) {
      const bool alike = i >= columns && random() % 2 == 0;
      features.push_back(alike ? features[i - columns] : 3 * draw() - 1);
    }
    for (std::size_t r = 0; r < count; ++r) {
      rows.push_back({{&features[r * columns], columns}, 4 * draw() - 1, 3 * draw(), false});
      rows.back().at_least = random() % 3 == 0;
    }
  }
};

// Karush, Kuhn and Tucker: at the minimum a positive weight has no slope, and one at 0 would only
// lose by growing.
TEST(NonnegativeFit, LeavesNothingToGain) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const DrawnProblem problem(random);
    std::vector<double> x(problem.expected.size());
    nonnegative_fit(problem.rows, problem.expected, problem.pull, x);
    for (std::size_t k = 0; k < x.size(); ++k) {
      double gain = problem.pull * (problem.expected[k] - x[k]);
      for (const FitRow& row : problem.rows) {
        double miss = row.target;
        for (std::size_t c = 0; c < x.size(); ++c) miss -= x[c] * row.features[c];
        if (!row.at_least || miss > 0) gain += row.weight * row.features[k] * miss;
      }
      EXPECT_GE(x[k], 0);
      EXPECT_LT(gain, 1e-9) << "problem " << i << ", weight " << k;
      EXPECT_TRUE(x[k] == 0 || gain > -1e-9) << "problem " << i << ", weight " << k;
    }
  }
}

// What a script that fits `arguments` says: its log, or how it failed.
std::string nonnegative_fit_in_a_script(const std::string& arguments) {
  const PolicyProblem problem;
  LuaPolicy policy("fit.lua", "local w = numerics.nonnegative_fit(" + arguments +
                                  ")\nlog(string.format('%.2f %.2f', w[1], w[2]))");
  policy.start(problem.context());
  return policy.failure().empty() ? policy.take_log() : std::string(policy.failure());
}

TEST(NumericsOfScripts, FitWithoutNegativeWeights) {
  EXPECT_EQ(nonnegative_fit_in_a_script(
                "{{1, 2}, {1, 5, weight = 2}, {9, 9, at_least = true}}, {7, 13, 1}, "
                "{1, 1}, 1e-6"),
            "3.00 2.00");
  // A row of weight 0 says nothing.
  EXPECT_EQ(nonnegative_fit_in_a_script("{{1, 0}, {1, 0, weight = 0}}, {4, 900}, {4, 5}, 0.1"),
            "4.00 5.00");
}

TEST(NumericsOfScripts, SayWhatAFitLacks) {
  const auto says = [](const std::string& arguments, const std::string& message) {
    const std::string said = nonnegative_fit_in_a_script(arguments);
    EXPECT_NE(said.find(message), std::string::npos) << said;
  };
  says("{{1, 2}}, {7}", "expected: expected a list, got no value");
  says("{{1, 2}}, {7}, {1}, 1", "expected: as many as a row has values (2)");
  says("{{1, 2}}, {7}, {1, 1}, 0", "pull: expected a number above 0, at most 1e9, got 0");
  says("{{1, 2, weight = 'x'}}, {7}, {1, 1}, 1", "weight: expected a number, got string");
  says("{{1, 2, weight = -1}}, {7}, {1, 1}, 1", "weight: -1.0; a number from 0");
}

}  // namespace
}  // namespace gearshift
