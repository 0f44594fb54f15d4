// What neighbours promise: order, doubt of single readings, and limits.
#include "policies/numerics/smooth_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "boards/board_model.h"
#include "policies/numerics/cost_prior.h"
#include "tests/policies/orin_problem.h"

namespace gearshift {
namespace {

class SmoothValuesTest : public testing::Test {
 protected:
  SmoothValuesTest()
      : board_(*built_in_board_model("jetson-agx-orin")),
        grid_(problem_.context(), highest_mode(&board_)),
        values_(grid_) {}

  // A bowl over the places of every dimension, 0 where each is at 0.7 of its list.
  double bowl(std::size_t setting) const {
    const SettingGrid::Position at = grid_.position(setting);
    double sum = 0;
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
      const std::size_t last = grid_.values(d).size() - 1;
      if (last == 0) continue;
      const double x = static_cast<double>(at[d]) / static_cast<double>(last);
      sum += (x - 0.7) * (x - 0.7);
    }
    return sum;
  }
  void learn_bowl(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) learn_bowl_at(i * 7919 % grid_.size());
  }
  void learn_bowl_at(std::size_t setting) { values_.learn(setting, bowl(setting)); }
  std::size_t best_of(const std::vector<double>& drawn) const {
    return static_cast<std::size_t>(std::min_element(drawn.begin(), drawn.end()) - drawn.begin());
  }

  OrinProblem problem_;
  BoardModel board_;
  SettingGrid grid_;
  SmoothValues values_;
};

TEST_F(SmoothValuesTest, SaysNothingBeforeAnythingWasLearnt) {
  std::mt19937_64 random(1);
  EXPECT_TRUE(values_.draw(random).empty());
}

TEST_F(SmoothValuesTest, PromisesMostNearTheBottomOfABowl) {
  learn_bowl(40);
  std::mt19937_64 random(1);
  double sum = 0;
  for (int i = 0; i < 10; ++i) {
    const std::vector<double> drawn = values_.draw(random);
    ASSERT_EQ(drawn.size(), grid_.size());
    sum += bowl(best_of(drawn)) / 10;
  }
  double all = 0;
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    all += bowl(i) / static_cast<double>(grid_.size());
  }
  EXPECT_LT(sum, 0.3 * all);
}

TEST_F(SmoothValuesTest, AReadingThatDoesNotFitItsNeighboursMovesThemLittle) {
  learn_bowl(40);
  const std::size_t wrong = grid_.size() / 3;
  learn_bowl_at(wrong);
  SmoothValues misled = values_;
  for (int i = 0; i < 40; ++i) misled.learn(wrong, bowl(wrong) + 3);
  std::mt19937_64 one(4), other(4);
  const std::vector<double> before = values_.draw(one), after = misled.draw(other);
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    if (i == wrong || !std::isfinite(before[i]) || !std::isfinite(after[i])) continue;
    EXPECT_NEAR(before[i], after[i], 1) << i << ": a third of the error";
  }
}

TEST_F(SmoothValuesTest, DrawsTheSameFromTheSameSeed) {
  learn_bowl(5);
  std::mt19937_64 one(3), other(3);
  EXPECT_EQ(values_.draw(one), values_.draw(other));
}

TEST_F(SmoothValuesTest, LooksAtNothingThatIsExcluded) {
  learn_bowl(20);
  std::vector<std::uint8_t> excluded(grid_.size());
  for (std::size_t i = 0; i < excluded.size(); i += 3) excluded[i] = 1;
  std::mt19937_64 random(2);
  const std::vector<double> drawn = values_.draw(random, excluded);
  ASSERT_EQ(drawn.size(), grid_.size());
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    looked_at += std::isfinite(drawn[i]) ? 1 : 0;
    EXPECT_TRUE(excluded[i] == 0 || std::isinf(drawn[i])) << i;
  }
  EXPECT_GT(looked_at, 0u);
}

TEST_F(SmoothValuesTest, ForgetsTheOldestAtItsLimitAndCountsARepeatOnce) {
  for (std::size_t i = 0; i < kMostSmoothRows; ++i) learn_bowl_at(i);
  learn_bowl_at(0);
  EXPECT_EQ(values_.size(), kMostSmoothRows);
  learn_bowl_at(kMostSmoothRows);
  EXPECT_EQ(values_.size(), kMostSmoothRows);
  std::mt19937_64 random(1);
  for (const double value : values_.draw(random)) EXPECT_FALSE(std::isnan(value));
}

}  // namespace
}  // namespace gearshift
