// The Gaussian process over costs: what it believes before, of what it saw, and of what lied to it.
#include "policies/numerics/cost_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "boards/board_model.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/interleaved_process.h"
#include "tests/policies/orin_problem.h"

namespace gearshift {
namespace {

class CostProcessTest : public testing::Test {
 protected:
  CostProcessTest()
      : board_(*built_in_board_model("jetson-agx-orin")),
        grid_(problem_.context(), highest_mode(&board_)) {}

  CostProcess process() const {
    const PolicyContext context = problem_.context();
    return {grid_, cost_centre(context, &board_, grid_), cost_prior(context, &board_, grid_)};
  }
  TrueCost truth(std::size_t setting) const {
    return OrinProblem::cost(board_, grid_.mode(setting), grid_.batch_size(setting));
  }
  CostRow row(std::size_t setting) const {
    const TrueCost cost = truth(setting);
    return {setting, cost.minibatch_ms, cost.power_w, 0, 0, false};
  }
  // Every so many settings, from both ends of the grid.
  std::vector<std::size_t> spread(std::size_t count) const {
    std::vector<std::size_t> settings;
    for (std::size_t i = 0; i < count; ++i) {
      settings.push_back(i * (grid_.size() - 1) / (count - 1));
    }
    return settings;
  }
  double mean_error(const CostProcess& process, bool power) const {
    double sum = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const CostProcess::Mean mean = process.mean(i);
      sum += power ? std::abs(mean.log_power - std::log(truth(i).power_w))
                   : std::abs(mean.log_time - std::log(truth(i).minibatch_ms));
    }
    return sum / static_cast<double>(grid_.size());
  }

  OrinProblem problem_;
  BoardModel board_;
  SettingGrid grid_;
};

TEST_F(CostProcessTest, IsUnsureOfTimeAndLessOfPowerBeforeAnyRow) {
  const CostProcess empty = process();
  CostSamples samples;
  empty.sample(grid_.size() / 2, samples);
  ASSERT_EQ(samples.log_time.size(), kCostSamples);
  double most = -1e9, least = 1e9, most_power = -1e9, least_power = 1e9, sum = 0;
  for (std::size_t k = 0; k < kCostSamples; ++k) {
    most = std::max(most, samples.log_time[k]);
    least = std::min(least, samples.log_time[k]);
    most_power = std::max(most_power, samples.log_power[k]);
    least_power = std::min(least_power, samples.log_power[k]);
    sum += empty.weights()[k];
  }
  EXPECT_GT(most - least, 2);  // a factor of e^2
  EXPECT_LT(most_power - least_power, 2);
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST_F(CostProcessTest, KnowsTheOthersFromAFew) {
  CostProcess learnt = process();
  for (const std::size_t setting : spread(10)) learnt.learn(row(setting));
  learnt.condition();
  EXPECT_LT(mean_error(learnt, false), 0.05);
  EXPECT_LT(mean_error(learnt, true), 0.02);
}

TEST_F(CostProcessTest, IsSureOfWhatItSawAndNotOfWhatIsFarFromIt) {
  CostProcess learnt = process();
  learnt.learn(row(0));
  learnt.condition();
  const CostProcess::Mean mean = learnt.mean(0);
  EXPECT_NEAR(mean.log_power, std::log(truth(0).power_w), 0.02);
  CostSamples near, far;
  learnt.sample(0, near);
  learnt.sample(grid_.size() - 1, far);
  EXPECT_LT(near.power_deviation, far.power_deviation / 1.5);
}

TEST_F(CostProcessTest, SurvivesOneWrongReading) {
  CostProcess learnt = process();
  const std::vector<std::size_t> settings = spread(10);
  for (const std::size_t setting : settings) {
    CostRow one = row(setting);
    if (setting == settings[4]) one.minibatch_ms *= 3;  // the mode was not applied
    learnt.learn(one);
  }
  learnt.condition();
  EXPECT_LT(mean_error(learnt, false), 0.1);
  EXPECT_LT(mean_error(learnt, true), 0.04);
}

// A sensor that sees other rails than the board's model was made of.
TEST_F(CostProcessTest, FindsThatPowerIsOnAnotherScaleThanTheModels) {
  for (const double scale : {0.6, 1.5}) {
    CostProcess learnt = process();
    for (const std::size_t setting : spread(4)) {
      CostRow one = row(setting);
      one.power_w *= scale;
      learnt.learn(one);
    }
    learnt.condition();
    double sum = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      sum += std::abs(learnt.mean(i).log_power - std::log(scale * truth(i).power_w));
    }
    EXPECT_LT(sum / static_cast<double>(grid_.size()), 0.04) << scale;
  }
}

// Nor does one reading that is wrong make it another one.
TEST_F(CostProcessTest, KeepsToTheScaleOfPowerForAllOneReadingSays) {
  CostProcess learnt = process();
  const std::vector<std::size_t> settings = spread(6);
  for (const std::size_t setting : settings) {
    CostRow one = row(setting);
    if (setting == settings[2]) one.power_w *= 1.5;
    learnt.learn(one);
  }
  learnt.condition();
  EXPECT_LT(mean_error(learnt, true), 0.06);
}

TEST_F(CostProcessTest, LearnsFromARowThatOnlySaysMoreThanThis) {
  CostProcess learnt = process();
  const std::size_t setting = grid_.size() / 2;
  const double before = learnt.mean(setting).log_power;
  learnt.learn({setting, 0, std::exp(before) * 1.3, 0, 0, true});
  learnt.condition();
  EXPECT_GT(learnt.mean(setting).log_power, before + 0.1);
  // And what says less than was known says nothing.
  CostProcess unmoved = process();
  unmoved.learn({setting, 0, std::exp(before) * 0.3, 0, 0, true});
  unmoved.condition();
  EXPECT_NEAR(unmoved.mean(setting).log_power, before, 1e-6);
}

TEST_F(CostProcessTest, TellsTheSameTwice) {
  CostProcess one = process();
  CostProcess other = process();
  for (const std::size_t setting : spread(7)) {
    one.learn(row(setting));
    other.learn(row(setting));
  }
  one.condition();
  other.condition();
  EXPECT_EQ(one.mean(3).log_time, other.mean(3).log_time);
  EXPECT_EQ(one.mean(3).log_power, other.mean(3).log_power);
}

TEST_F(CostProcessTest, ForgetsTheOldestOfTooMany) {
  CostProcess learnt = process();
  for (std::size_t i = 0; i < kMostCostRows + 5; ++i) learnt.learn(row(i % grid_.size()));
  EXPECT_EQ(learnt.rows().size(), kMostCostRows);
  EXPECT_EQ(learnt.rows().front().setting, 5U);
}

TEST_F(CostProcessTest, RemembersSamplesUntilItLearns) {
  CostProcess learnt = process();
  CostSamples before, after;
  const std::size_t setting = grid_.size() / 2;
  learnt.sample(setting, before);
  EXPECT_EQ(learnt.samples(setting).log_time, before.log_time);
  EXPECT_EQ(&learnt.samples(setting), &learnt.samples(setting));
  const double mean = learnt.mean(setting).log_time;
  learnt.learn(row(setting));
  learnt.condition();
  learnt.sample(setting, after);
  EXPECT_NE(after.log_time, before.log_time);
  EXPECT_EQ(learnt.samples(setting).log_time, after.log_time);
  EXPECT_NE(learnt.mean(setting).log_time, mean);
}

// Inference that waits for its samples, or not.
class ServingCostTest : public testing::Test {
 protected:
  CostProcess learnt(double load, std::size_t count, bool beside = false) const {
    const PolicyContext context = problem_.context();
    CostCentre centre = cost_centre(context, &board_, grid_);
    if (beside) centre = beside_training(centre, problem_.goal);
    CostProcess process(grid_, centre, cost_prior(context, &board_, grid_));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t setting = (97 * i + 1) % grid_.size();
      const MinibatchCost cost = truth(load, setting);
      process.learn({setting, cost.minibatch_ms, cost.power_w, 0, 0, false});
    }
    process.condition();
    return process;
  }
  MinibatchCost truth(double load, std::size_t setting) const {
    const double batch_size = grid_.batch_size(setting);
    Demand demand{.A = 1 + 2 * batch_size,
                  .B = 1 + 5 * batch_size,
                  .L = 20,
                  .P = batch_size,
                  .O = 5,
                  .workers = 4,
                  .kg = 12};
    demand.S = load * batch_size;
    return minibatch_cost(board_.parameters[index(Kind::infer)], demand, grid_.mode(setting));
  }
  // Of the largest batch at the two lower CPU clocks, where samples are waited for.
  double power_error(const CostProcess& process, double load) const {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      if (grid_.batch_size(i) < 16 || grid_.mode(i).cpu_ghz > 1.1) continue;
      sum += std::abs(process.mean(i).log_power - std::log(truth(load, i).power_w));
      ++count;
    }
    return sum / count;
  }
  // The most that times are said to scatter.
  static double most_own(const CostProcess& process) {
    double most = 0;
    for (std::size_t i = 0; i < process.size(); ++i) most = std::max(most, process.time_own(i));
    return most;
  }

  OrinProblem problem_{Kind::infer};
  BoardModel board_ = *built_in_board_model("jetson-agx-orin");
  SettingGrid grid_{problem_.context(), highest_mode(&board_)};
};

TEST_F(ServingCostTest, LearnsThatTheGpuWaitsForSamplesAndThatItDoesNot) {
  for (const double load : {0.0, 15.0}) {
    EXPECT_LT(power_error(learnt(load, 20), load), 0.03) << load;
    EXPECT_LT(power_error(learnt(load, 20, true), load), 0.04) << load << " beside training";
  }
}

TEST_F(ServingCostTest, RequestsThatComeOneByOneBringTheirSamples) {
  EXPECT_GT(cost_prior(problem_.context(), &board_, grid_).workload.slope.S, 0);
  problem_.goal.one_by_one = true;
  EXPECT_EQ(cost_prior(problem_.context(), &board_, grid_).workload.slope.S, 0);
}

TEST_F(ServingCostTest, IsUnsureOfTimesWhereSamplesAreWaitedForBesideTrainingAlone) {
  const double without = most_own(learnt(0, 20, true));
  EXPECT_GT(most_own(learnt(15, 20, true)), 3 * without);
  EXPECT_LT(most_own(learnt(15, 20)), without);
}

}  // namespace
}  // namespace gearshift
