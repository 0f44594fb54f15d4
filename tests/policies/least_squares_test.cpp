#include "policies/numerics/least_squares.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

TEST(LeastSquares, FindsTheLineThroughPointsOnALine) {
  const std::array<double, 6> features{1, 2, 1, 5, 1, 9};
  const std::array<double, 3> targets{7, 13, 21};
  std::array<double, 2> weights{};
  least_squares(features, targets, weights);
  EXPECT_NEAR(weights[0], 3, 1e-9);
  EXPECT_NEAR(weights[1], 2, 1e-9);
}

TEST(LeastSquares, MinimisesTheSumOfSquares) {
  const std::array<double, 3> features{1, 1, 1};
  const std::array<double, 3> targets{2, 3, 7};
  std::array<double, 1> weights{};
  least_squares(features, targets, weights);
  EXPECT_NEAR(weights[0], 4, 1e-12);
}

TEST(LeastSquares, TakesTheLeastNormWhereRowsLeaveWeightsOpen) {
  const std::array<double, 4> features{1, 1, 0, 0};
  const std::array<double, 1> targets{6};
  std::array<double, 4> weights{};
  least_squares(features, targets, weights);
  EXPECT_NEAR(weights[0], 3, 1e-12);
  EXPECT_NEAR(weights[1], 3, 1e-12);
  EXPECT_NEAR(weights[2], 0, 1e-12);
  EXPECT_NEAR(weights[3], 0, 1e-12);
}

// Clocks in MHz, and their cubes.
TEST(LeastSquares, FindsWeightsOfFeaturesThatDifferByManyPowersOfTen) {
  std::vector<double> features, targets;
  for (const double mhz : {306.0, 510.0, 714.0, 918.0, 1122.0, 1300.5}) {
    features.insert(features.end(), {1, mhz, mhz * mhz * mhz});
    targets.push_back(10 + 0.005 * mhz + 4e-9 * mhz * mhz * mhz);
  }
  std::array<double, 3> weights{};
  least_squares(features, targets, weights);
  EXPECT_NEAR(weights[0] / 10, 1, 1e-6);
  EXPECT_NEAR(weights[1] / 0.005, 1, 1e-6);
  EXPECT_NEAR(weights[2] / 4e-9, 1, 1e-6);
}

TEST(LeastSquares, TakesFeaturesWhoseSquaresAreInfinite) {
  const std::array<double, 4> features{1e200, 1, 1, 1e200};
  const std::array<double, 2> targets{2e200, 3e200};
  std::array<double, 2> weights{};
  least_squares(features, targets, weights);
  EXPECT_NEAR(weights[0], 2, 1e-9);
  EXPECT_NEAR(weights[1], 3, 1e-9);
}

// What a script that fits `arguments` says: its log, or how it failed.
std::string fit_in_a_script(const std::string& arguments) {
  const PolicyProblem problem;
  LuaPolicy policy("fit.lua", "local w = numerics.least_squares(" + arguments +
                                  ")\nlog(string.format('%.3f %.3f', w[1], w[2]))");
  policy.start(problem.context());
  return policy.failure().empty() ? policy.take_log() : std::string(policy.failure());
}

TEST(NumericsOfScripts, FitLists) {
  EXPECT_EQ(fit_in_a_script("{{1, 2}, {1, 5}}, {7, 13}"), "3.000 2.000");
}

TEST(NumericsOfScripts, SayWhatIsWrong) {
  const auto says = [](const std::string& arguments, const std::string& message) {
    const std::string said = fit_in_a_script(arguments);
    EXPECT_NE(said.find(message), std::string::npos) << said;
  };
  says("nil, {}", "rows: expected a list, got nil");
  says("{}, {}", "rows: 0 values; 1 to 256");
  says("{{1}, {1, 2}}, {1, 2}", "row 2 has 2 values, row 1 has 1");
  says("{{1, 0 / 0}}, {1}", "value 2: expected a number from -1e100 to 1e100, got ");
  says("{{1, 2}}, {1, 2}", "targets: as many as rows (1)");
  says("{{1, 2}}, {'1'}", "targets: value 1: expected a number from -1e100 to 1e100, got string");
}

}  // namespace
}  // namespace gearshift
