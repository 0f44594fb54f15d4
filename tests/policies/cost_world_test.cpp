// Worlds drawn from what is believed: alike where something was measured, apart elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "policies/numerics/cost_prior.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/next_probe.h"
#include "tests/policies/orin_problem.h"

namespace gearshift {
namespace {

class CostWorldTest : public testing::Test {
 protected:
  CostWorldTest()
      : board_(*built_in_board_model("jetson-agx-orin")),
        grid_(problem_.context(), highest_mode(&board_)),
        process_(grid_, cost_centre(problem_.context(), &board_, grid_),
                 cost_prior(problem_.context(), &board_, grid_)),
        excluded_(grid_.size()) {}
  TrueCost truth(std::size_t setting) const {
    return OrinProblem::cost(board_, grid_.mode(setting), grid_.batch_size(setting), grid_.kind());
  }
  void learn(std::size_t setting, double factor = 1, double noise = 0.01) {
    const TrueCost cost = truth(setting);
    process_.learn({setting, factor * cost.minibatch_ms, cost.power_w, noise, noise, false});
  }
  // Mean and deviation of log time over many worlds.
  std::pair<double, double> spread(std::size_t setting, double temper) {
    std::mt19937_64 random(5);
    double sum = 0, squares = 0;
    constexpr int kWorlds = 400;
    for (int i = 0; i < kWorlds; ++i) {
      const CostProcess::World world = process_.draw_world(random, temper);
      const double log = process_.mean(world, setting).log_time;
      sum += log;
      squares += log * log;
    }
    const double mean = sum / kWorlds;
    return {mean, std::sqrt(squares / kWorlds - mean * mean)};
  }

  OrinProblem problem_;
  BoardModel board_;
  SettingGrid grid_;
  CostProcess process_;
  std::vector<std::uint8_t> excluded_;
};

TEST_F(CostWorldTest, AgreeWithWhatTheSamplesSay) {
  for (std::size_t i = 0; i < 8; ++i) learn(i * (grid_.size() - 1) / 7);
  process_.condition();
  for (const std::size_t setting : {std::size_t{3}, grid_.size() / 2, grid_.size() - 2}) {
    CostSamples samples;
    process_.sample(setting, samples);
    double mean = 0, variance = 0;
    for (std::size_t k = 0; k < kCostSamples; ++k)
      mean += process_.weights()[k] * samples.log_time[k];
    for (std::size_t k = 0; k < kCostSamples; ++k) {
      variance += process_.weights()[k] * std::pow(samples.log_time[k] - mean, 2);
    }
    // A world's mean leaves out what is the setting's own.
    variance += std::pow(samples.time_deviation, 2) - std::pow(process_.time_own(setting), 2);
    const auto [drawn_mean, drawn_deviation] = spread(setting, 1);
    EXPECT_NEAR(drawn_mean, mean, 0.3 * std::sqrt(variance) + 1e-3) << setting;
    EXPECT_NEAR(drawn_deviation, std::sqrt(variance), 0.3 * std::sqrt(variance) + 1e-3) << setting;
  }
}

TEST_F(CostWorldTest, LieCloseTogetherWhereSomethingWasMeasured) {
  const std::size_t measured = grid_.size() / 3;
  for (std::size_t i = 0; i < 6; ++i) learn(i * (grid_.size() - 1) / 5);
  learn(measured);
  process_.condition();
  EXPECT_LT(spread(measured, 1).second, 0.03);
  EXPECT_GT(spread(measured, 3).second, 1.5 * spread(measured, 1).second);
}

TEST_F(CostWorldTest, ARepeatedSettingIsOneRowWithLessNoise) {
  learn(5, 1.00, 0.02);
  learn(9, 1.00, 0.02);
  learn(5, 1.10, 0.02);
  ASSERT_EQ(process_.rows().size(), 2u);
  EXPECT_EQ(process_.rows().back().setting, 5u);
  EXPECT_NEAR(process_.rows().back().minibatch_ms, 1.05 * truth(5).minibatch_ms, 1e-9);
  EXPECT_NEAR(process_.rows().back().time_noise, 0.02 / std::sqrt(2), 1e-12);
}

TEST_F(CostWorldTest, WhatIsDrawnKeepsTheOddsOfTheCap) {
  for (std::size_t i = 0; i < 10; ++i) learn(i * (grid_.size() - 1) / 9);
  process_.condition();
  std::mt19937_64 random(1);
  Goal goal{Objective::time, 25'000};
  for (int i = 0; i < 20; ++i) {
    const auto drawn = drawn_setting(process_, goal, grid_.kind(), excluded_,
                                     {.limit_w = 25, .most_over_odds = 0.1}, random);
    ASSERT_TRUE(drawn);
    EXPECT_GE(drawn->power_odds, 0.9);
    EXPECT_LT(truth(drawn->setting).power_w, 27);
    EXPECT_GT(drawn->deviation, 0);
  }
  EXPECT_FALSE(drawn_setting(process_, goal, grid_.kind(), excluded_,
                             {.limit_w = 4, .most_over_odds = 0.1}, random));
}

// What promises most lies near the cap, and hundreds of settings there are too likely to be over
// it.
TEST_F(CostWorldTest, GivesWayBelowTheCapWhereTheBestAreNotLikelyToKeepIt) {
  for (std::size_t i = 0; i < 3; ++i) learn(i * (grid_.size() - 1) / 2);
  process_.condition();
  std::mt19937_64 random(1);
  const Goal goal{Objective::time, 25'000};
  DrawTerms terms{.limit_w = 25, .most_over_odds = 0.02};
  std::vector<double> log_values;
  for (std::size_t i = 0; i < grid_.size(); ++i) log_values.push_back(-process_.mean(i).log_power);
  terms.log_values = log_values;
  const auto drawn = drawn_setting(process_, goal, grid_.kind(), excluded_, terms, random);
  ASSERT_TRUE(drawn);
  EXPECT_GE(drawn->power_odds, 0.98);
}

TEST_F(CostWorldTest, PassesOverWhatIsOverTheCapOrDearerThanMayBe) {
  for (std::size_t i = 0; i < 10; ++i) learn(i * (grid_.size() - 1) / 9);
  process_.condition();
  std::mt19937_64 random(1);
  const Goal goal{Objective::time, 25'000};
  DrawTerms terms{.limit_w = 25};
  std::vector<double> log_values;
  for (std::size_t i = 0; i < grid_.size(); ++i) log_values.push_back(-process_.mean(i).log_time);
  terms.log_values = log_values;  // the slowest promise most
  const auto slow = drawn_setting(process_, goal, grid_.kind(), excluded_, terms, random);
  ASSERT_TRUE(slow);
  terms.most_expected_log = std::log(slow->expected / 2);
  const auto passed = passed_over(process_, goal, grid_.kind(), excluded_, terms);
  EXPECT_EQ(passed[slow->setting], 1);
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    const auto mean = process_.mean(i);
    const bool over = mean.log_power > std::log(25.0);
    const bool dear = mean.log_time - std::log(16e3) > terms.most_expected_log;
    EXPECT_EQ(passed[i] != 0, over || dear) << i;
    if (passed[i] != 0) log_values[i] = std::numeric_limits<double>::infinity();
  }
  const auto drawn = drawn_setting(process_, goal, grid_.kind(), excluded_, terms, random);
  ASSERT_TRUE(drawn);
  EXPECT_LE(drawn->expected, slow->expected / 2);
}

TEST_F(CostWorldTest, MovesFromTimeToEnergyWithTheWeight) {
  for (std::size_t i = 0; i < 10; ++i) learn(i * (grid_.size() - 1) / 9);
  process_.condition();
  const TrueCost highest = truth(grid_.size() - 1);
  Goal goal{Objective::weighted};
  goal.reference_s = highest.minibatch_ms / 1e3 / 16;
  goal.reference_j = goal.reference_s * highest.power_w;
  double power_w[2] = {0, 0};
  for (const int weight : {0, 1}) {
    std::mt19937_64 random(1);
    goal.energy_weight = weight;
    for (int i = 0; i < 20; ++i) {
      const auto drawn =
          drawn_setting(process_, goal, grid_.kind(), excluded_, {.limit_w = kHuge}, random);
      ASSERT_TRUE(drawn);
      power_w[weight] += truth(drawn->setting).power_w / 20;
      EXPECT_LT(drawn->expected, 1.2);
    }
  }
  EXPECT_LT(power_w[1], 0.8 * power_w[0]);
}

}  // namespace
}  // namespace gearshift
