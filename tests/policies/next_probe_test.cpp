// The choice of the next setting to measure.
#include "policies/numerics/next_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "policies/numerics/cost_prior.h"
#include "policies/numerics/elementary.h"
#include "tests/policies/orin_problem.h"

namespace gearshift {
namespace {

class NextProbeTest : public testing::Test {
 protected:
  explicit NextProbeTest(Kind kind = Kind::train)
      : problem_(kind),
        board_(*built_in_board_model("jetson-agx-orin")),
        grid_(problem_.context(), highest_mode(&board_)),
        process_(grid_, cost_centre(problem_.context(), &board_, grid_),
                 cost_prior(problem_.context(), &board_, grid_)),
        excluded_(grid_.size()) {
    for (std::size_t i = 0; i < 10; ++i) {
      const std::size_t setting = i * (grid_.size() - 1) / 9;
      const TrueCost cost = truth(setting);
      process_.learn({setting, cost.minibatch_ms, cost.power_w, 0, 0, false});
    }
    process_.condition();
  }
  TrueCost truth(std::size_t setting) const {
    return OrinProblem::cost(board_, grid_.mode(setting), grid_.batch_size(setting), grid_.kind());
  }
  std::optional<Probe> next(const Goal& goal, const ProbeTerms& terms) const {
    return next_probe(process_, goal, grid_.kind(), excluded_, terms);
  }

  OrinProblem problem_;
  BoardModel board_;
  SettingGrid grid_;
  CostProcess process_;
  std::vector<std::uint8_t> excluded_;
};

TEST_F(NextProbeTest, PromisesWhatIsFastAndLikelyToFit) {
  const auto probe = next({Objective::time}, {.limit_w = 30, .least_odds = 0.5});
  ASSERT_TRUE(probe);
  EXPECT_GE(probe->power_odds, 0.5);
  EXPECT_LT(truth(probe->setting).power_w, 31);
  double fastest = kHuge;
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    if (truth(i).power_w <= 30) fastest = std::min(fastest, truth(i).minibatch_ms);
  }
  EXPECT_LT(truth(probe->setting).minibatch_ms, 1.15 * fastest);
  EXPECT_NEAR(probe->minibatch_ms, truth(probe->setting).minibatch_ms, 0.2 * probe->minibatch_ms);
}

TEST_F(NextProbeTest, TakesTheHighestWhereThereIsNoLimit) {
  const auto probe = next({Objective::time}, {.limit_w = kHuge});
  ASSERT_TRUE(probe);
  EXPECT_NEAR(probe->power_odds, 1, 1e-9);
  EXPECT_LT(truth(probe->setting).minibatch_ms, 1.1 * truth(grid_.size() - 1).minibatch_ms);
}

TEST_F(NextProbeTest, HasNoneWhereNothingFits) {
  EXPECT_FALSE(next({Objective::time}, {.limit_w = 5, .least_odds = 0.01}));
  EXPECT_FALSE(next({Objective::time}, {.limit_w = 5, .least_odds = 0.01, .safest_odds = 0.01}));
}

TEST_F(NextProbeTest, FindsWhatIsSureToFitFarBelowTheFastest) {
  for (const double limit_w : {20.0, 25.0, 30.0}) {
    const auto probe = next({Objective::time}, {.limit_w = limit_w, .least_odds = 0.99});
    ASSERT_TRUE(probe) << limit_w;
    EXPECT_LE(truth(probe->setting).power_w, limit_w);
    EXPECT_GT(truth(probe->setting).power_w, 0.7 * limit_w);
  }
}

TEST_F(NextProbeTest, NeverTakesWhatIsExcluded) {
  const auto first = next({Objective::time}, {.limit_w = 30});
  ASSERT_TRUE(first);
  excluded_[first->setting] = 1;
  const auto second = next({Objective::time}, {.limit_w = 30});
  ASSERT_TRUE(second);
  EXPECT_NE(second->setting, first->setting);
  excluded_.assign(excluded_.size(), 1);
  EXPECT_FALSE(next({Objective::time}, {.limit_w = 30}));
}

TEST_F(NextProbeTest, GainsLittleOverAGoodOneAndLessAtAPrice) {
  const Goal goal{Objective::time};
  const auto free = next(goal, {.best_log = std::log(1e-3), .limit_w = 30});
  ASSERT_TRUE(free);
  EXPECT_LT(free->gain, 0.01);  // a millisecond a sample is out of reach
  const auto slow = next(goal, {.best_log = std::log(1.0), .limit_w = 30});
  ASSERT_TRUE(slow);
  EXPECT_GT(slow->gain, 1);  // as a logarithm
  const auto priced = next(goal, {.best_log = std::log(1e-3), .limit_w = 30, .price = 1});
  ASSERT_TRUE(priced);
  EXPECT_LE(priced->gain, free->gain);
  EXPECT_GE(priced->power_odds, free->power_odds);
}

TEST_F(NextProbeTest, IsSaferWhereOnlySafetyCounts) {
  const auto bold = next({Objective::time}, {.limit_w = 25});
  const auto safe = next({Objective::time}, {.limit_w = 25, .least_odds = 2, .safest_odds = 0});
  ASSERT_TRUE(bold && safe);
  EXPECT_GE(safe->odds, bold->odds);
}

TEST_F(NextProbeTest, DoesNotTakeTheSlowestForThePowerLimitAlone) {
  CostProcess unknown(grid_, cost_centre(problem_.context(), &board_, grid_),
                      cost_prior(problem_.context(), &board_, grid_));
  unknown.condition();
  std::size_t doubtful = 0;  // where the likeliest has more than twice the odds
  for (double limit_w = 12; limit_w <= 40; ++limit_w) {
    ProbeTerms terms{.limit_w = limit_w, .least_odds = 0.15};
    const auto fast = next_probe(unknown, {Objective::time}, grid_.kind(), excluded_, terms);
    terms.safest_odds = 0.002;
    const auto likely = next_probe(unknown, {Objective::time}, grid_.kind(), excluded_, terms);
    ASSERT_EQ(fast.has_value(), likely.has_value() && likely->power_odds >= 0.15) << limit_w;
    if (!fast) continue;
    EXPECT_EQ(likely->setting, fast->setting) << limit_w;
    if (fast->odds < 0.45) ++doubtful;
  }
  EXPECT_GT(doubtful, 0u);
}

TEST_F(NextProbeTest, PromisesMoreWhereItIsDoubted) {
  const Goal goal{Objective::time};
  const double best = std::log(truth(grid_.size() - 1).minibatch_ms / 1e3 / 16);
  const auto trusted = next(goal, {.best_log = best, .limit_w = kHuge});
  const auto doubted = next(goal, {.best_log = best, .limit_w = kHuge, .doubt = 3});
  ASSERT_TRUE(trusted && doubted);
  EXPECT_GT(doubted->gain, trusted->gain);
}

TEST_F(NextProbeTest, SavesEnergyWhereThatIsTheGoal) {
  const auto probe = next({Objective::energy}, {.limit_w = kHuge});
  ASSERT_TRUE(probe);
  const auto joules = [&](std::size_t i) { return truth(i).minibatch_ms * truth(i).power_w; };
  double least = kHuge;
  for (std::size_t i = 0; i < grid_.size(); ++i) least = std::min(least, joules(i));
  EXPECT_LT(joules(probe->setting), 1.15 * least);
}

TEST_F(NextProbeTest, WeighsTimeAgainstEnergy) {
  const TrueCost highest = truth(grid_.size() - 1);
  const auto joules = [&](std::size_t i) { return truth(i).minibatch_ms * truth(i).power_w; };
  Goal goal{.objective = Objective::weighted, .energy_weight = 0};
  const auto of_time = next({Objective::time}, {.limit_w = kHuge});
  EXPECT_EQ(next(goal, {.limit_w = kHuge})->setting, of_time->setting) << "no reference is known";
  const double batch_size = grid_.batch_size(grid_.size() - 1);
  goal.reference_s = highest.minibatch_ms / 1e3 / batch_size;
  goal.reference_j = goal.reference_s * highest.power_w;
  EXPECT_EQ(next(goal, {.limit_w = kHuge})->setting, of_time->setting);
  goal.energy_weight = 1;
  const auto of_energy = next({Objective::energy}, {.limit_w = kHuge});
  EXPECT_EQ(next(goal, {.limit_w = kHuge})->setting, of_energy->setting);
  goal.energy_weight = 0.5;
  const auto between = next(goal, {.limit_w = kHuge});
  ASSERT_TRUE(between);
  EXPECT_LE(joules(between->setting), joules(of_time->setting));
  EXPECT_LE(truth(between->setting).minibatch_ms, truth(of_energy->setting).minibatch_ms);
}

TEST_F(NextProbeTest, KeepsALimitOfEnergy) {
  const auto joules = [&](std::size_t i) {
    return truth(i).minibatch_ms / 1e3 / grid_.batch_size(i) * truth(i).power_w;
  };
  const auto free = next({Objective::time}, {.limit_w = kHuge});
  const auto least = next({Objective::energy}, {.limit_w = kHuge});
  ASSERT_TRUE(free && least);
  const double budget_j = (joules(free->setting) + joules(least->setting)) / 2;
  const auto thrifty = next({.energy_j = budget_j}, {.limit_w = kHuge});
  ASSERT_TRUE(thrifty);
  EXPECT_LT(joules(thrifty->setting), 1.1 * budget_j);
  EXPECT_LT(joules(thrifty->setting), joules(free->setting));
  EXPECT_LT(thrifty->odds, 1);
  EXPECT_FALSE(next({.energy_j = joules(least->setting) / 10}, {.limit_w = kHuge}));
}

class NextServingProbeTest : public NextProbeTest {
 protected:
  NextServingProbeTest() : NextProbeTest(Kind::infer) {}
};

TEST_F(NextServingProbeTest, KeepsUpWithRequestsAndAnswersInTime) {
  // 20 requests a second: batch 16 takes 0.8 s to come.
  const Goal goal{Objective::latency, {}, Duration(400'000'000), 20};
  const auto probe = next(goal, {.limit_w = 40});
  ASSERT_TRUE(probe);
  const double batch_size = grid_.batch_size(probe->setting);
  EXPECT_LT(batch_size, 16);
  EXPECT_LE(truth(probe->setting).minibatch_ms, 1e3 * batch_size / 20);
  const Goal hopeless{Objective::latency, {}, Duration(20'000'000), 20};
  EXPECT_FALSE(next(hopeless, {.limit_w = 40, .safest_odds = 0}));
}

// The likeliest demands may be far off: what they call too late is still looked at, and what they
// call more than twice too late is not.
TEST_F(NextServingProbeTest, LooksAtWhatIsLateByTheLikeliestDemandsAlone) {
  std::size_t looked_at = 0;
  for (double rate = 50; rate < 5000; rate *= 1.1) {
    const Goal goal{Objective::latency, {}, {}, rate};
    double least_late = kHuge;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const double wait_ms = 1e3 * grid_.batch_size(i) / rate;
      least_late = std::min(least_late, process_.mean(i).log_time - std::log(wait_ms));
    }
    const auto probe = next(goal, {.limit_w = kHuge});
    EXPECT_EQ(probe.has_value(), least_late <= 0.7) << rate << ", late by " << least_late;
    if (least_late > 0.45 && probe) ++looked_at;
  }
  EXPECT_GT(looked_at, 0u);
}

// A cap that nothing reaches must not be what makes the likeliest setting worth a look.
TEST_F(NextServingProbeTest, TakesTheLikeliestWithoutALimitToo) {
  CostProcess unknown(grid_, cost_centre(problem_.context(), &board_, grid_),
                      cost_prior(problem_.context(), &board_, grid_));
  unknown.condition();
  std::size_t late = 0;
  for (double rate = 50; rate < 100'000; rate *= 1.2) {
    const Goal goal{Objective::latency, {}, {}, rate};
    const auto probe = [&](double limit_w, std::optional<double> safest_odds) {
      return next_probe(unknown, goal, grid_.kind(), excluded_,
                        {.limit_w = limit_w, .safest_odds = safest_odds});
    };
    const auto free = probe(kHuge, 1e-9), loose = probe(1e6, 1e-9);
    ASSERT_EQ(free.has_value(), loose.has_value()) << rate;
    if (!free) continue;
    EXPECT_EQ(free->setting, loose->setting) << rate;
    if (!probe(kHuge, std::nullopt)) ++late;
  }
  EXPECT_GT(late, 0u) << "believed to be more than twice too late, and taken";
}

// What two cuts say of one batch size, the third probe need not learn again.
TEST_F(NextServingProbeTest, LetsAnotherBatchSizeHaveItsTurnWhereOneWasOverTheLimit) {
  const Goal goal{Objective::latency, {}, Duration(2'000'000'000), 60};
  std::size_t moved = 0;
  for (double limit_w = 12; limit_w <= 24; limit_w += 2) {
    CostProcess unknown(grid_, cost_centre(problem_.context(), &board_, grid_),
                        cost_prior(problem_.context(), &board_, grid_));
    std::vector<std::uint8_t> known(grid_.size());
    ProbeTerms terms{.limit_w = limit_w, .least_odds = 0.15, .safest_odds = 0.002};
    const auto first = next_probe(unknown, goal, grid_.kind(), known, terms);
    if (!first) continue;
    known[first->setting] = 1;
    unknown.learn({first->setting, 0, limit_w, 0, 0, true});
    unknown.condition();
    const double batch_size = grid_.batch_size(first->setting);
    const auto any = next_probe(unknown, goal, grid_.kind(), known, terms);
    terms.most_over = 2;
    const auto same = next_probe(unknown, goal, grid_.kind(), known, terms);
    ASSERT_EQ(any.has_value(), same.has_value());
    if (!any) continue;
    EXPECT_EQ(any->setting, same->setting) << "one cut is not two";
    terms.most_over = 1;
    const auto other = next_probe(unknown, goal, grid_.kind(), known, terms);
    ASSERT_TRUE(other) << limit_w;
    if (grid_.batch_size(other->setting) == batch_size) {
      EXPECT_EQ(other->setting, any->setting) << "no other size is likely enough";
    } else if (grid_.batch_size(any->setting) == batch_size) {
      EXPECT_GE(other->odds, 0.1 * any->odds);
      ++moved;
    }
  }
  EXPECT_GT(moved, 0u);
}

// 16 of them take 800 ms to come, and none can be in time.
TEST_F(NextServingProbeTest, DrawsNoBatchThatIsNeverInTimeHoweverGoodItLooks) {
  const Goal goal{Objective::latency, {}, Duration(400'000'000), 20};
  std::vector<double> log_values(grid_.size());
  for (std::size_t i = 0; i < grid_.size(); ++i) log_values[i] = -grid_.batch_size(i);
  std::mt19937_64 random(7);
  const auto drawn =
      drawn_setting(process_, goal, grid_.kind(), excluded_,
                    {.limit_w = kHuge, .most_over_odds = 0.5, .log_values = log_values}, random);
  ASSERT_TRUE(drawn);
  EXPECT_EQ(grid_.batch_size(drawn->setting), 4);
  EXPECT_GE(drawn->odds, 0.5);
}

}  // namespace
}  // namespace gearshift
