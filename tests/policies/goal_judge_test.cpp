#include "policies/numerics/goal_judge.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gearshift {
namespace {

// Requests at 60 a second, to be answered within half a second.
double most_ms(double batch_size, bool one_by_one, double requests_per_s = 60) {
  Goal goal{.objective = Objective::throughput,
            .latency = std::chrono::milliseconds(500),
            .arrivals_per_s = requests_per_s,
            .one_by_one = one_by_one};
  return GoalJudge(goal, Kind::infer, 30).most_ms(batch_size);
}

TEST(GoalJudge, GivesABatchTheTimeThatIsLeftWhenItIsFull) {
  EXPECT_DOUBLE_EQ(most_ms(6, false), 100) << "as fast as its requests come";
  EXPECT_DOUBLE_EQ(most_ms(18, false), 200);
  EXPECT_LT(most_ms(32, false), 0);
}

TEST(GoalJudge, OneByOneGivesItTheTimeThatIsLeftWhenItIsHalfFull) {
  EXPECT_NEAR(most_ms(24, true), 250, 1e-9) << "200 of 450 ms until it is";
  EXPECT_NEAR(most_ms(32, true), 450 - 800.0 / 3, 1e-9);
  EXPECT_DOUBLE_EQ(most_ms(6, true), 100) << "what is full in time is in time";
  EXPECT_DOUBLE_EQ(most_ms(18, true), 255) << "busy for 0.85 of 300 ms";
  EXPECT_LT(most_ms(64, true), 0);
}

TEST(GoalJudge, TellsABatchThatIsFullInTime) {
  Goal goal{.latency = std::chrono::milliseconds(500), .arrivals_per_s = 64};
  EXPECT_TRUE(GoalJudge(goal, Kind::infer, 30).full_in_time(16, 250));
  EXPECT_FALSE(GoalJudge(goal, Kind::infer, 30).full_in_time(16, 250.1));
  goal.latency.reset();
  EXPECT_TRUE(GoalJudge(goal, Kind::infer, 30).full_in_time(16, 250.1));
}

// The first is measured, the other one predicted: as Observation::value and keeps_energy have it.
TEST(GoalJudge, OneByOneItCountsWhatIsDrawnUntilTheNextRequestComes) {
  Goal goal{.objective = Objective::energy, .arrivals_per_s = 30, .one_by_one = true};
  goal.energy_j = 0.3;
  const GoalJudge judge(goal, Kind::infer, 30);
  EXPECT_NEAR(std::exp(judge.log_value(4, std::log(12.4), std::log(7.66))), 7.66 / 30, 1e-9);
  EXPECT_NEAR(std::exp(judge.log_value(16, std::log(28.1), std::log(11.61))), 11.61 / 30, 1e-9);
  EXPECT_LT(judge.log_energy_over(4, std::log(12.4), std::log(7.66)), 0);
  EXPECT_GT(judge.log_energy_over(16, std::log(28.1), std::log(11.61)), 0);
  EXPECT_DOUBLE_EQ(judge.deviation(4, std::log(12.4), std::log(7.66), 0.5, 0.1), 0.1)
      << "how long a minibatch takes changes nothing";
  EXPECT_NEAR(std::exp(judge.log_value(4, std::log(200), std::log(7.66))), 7.66 * 0.05, 1e-9)
      << "it never pauses";
  goal.objective = Objective::weighted;
  goal.reference_s = 1e-3;
  goal.reference_j = 0.2;
  EXPECT_NEAR(std::exp(judge.log_value(4, std::log(12.4), std::log(7.66))),
              0.5 * 7.66 / 30 / 0.2 + 0.5 * 3.1, 1e-9);
  const double step = 1e-6;
  const auto value_at = [&](double time, double power) {
    return judge.log_value(4, std::log(12.4) + time, std::log(7.66) + power);
  };
  EXPECT_NEAR(judge.deviation(4, std::log(12.4), std::log(7.66), 0.3, 0),
              0.3 * (value_at(step, 0) - value_at(0, 0)) / step, 1e-5);
  EXPECT_NEAR(judge.deviation(4, std::log(12.4), std::log(7.66), 0, 0.3),
              0.3 * (value_at(0, step) - value_at(0, 0)) / step, 1e-5);
}

TEST(GoalJudge, OneByOneItCountsTheWaitBehindOtherRequests) {
  const Goal goal{.objective = Objective::latency, .arrivals_per_s = 60, .one_by_one = true};
  const GoalJudge judge(goal, Kind::infer, 30);
  const double log_time = std::log(15.5);  // busy for 0.93 of the time
  EXPECT_NEAR(std::exp(judge.log_value(1, log_time, 2)), goal.counted_latency_s(1, 0.0155), 1e-12);
  EXPECT_NEAR(judge.deviation(1, log_time, 2, 0.1, 0.3),
              std::log(goal.counted_latency_s(1, 0.0155)) -
                  std::log(goal.counted_latency_s(1, 0.0155 * std::exp(-0.1))),
              1e-12)
      << "what a minibatch of that much less gains, and power nothing";
  EXPECT_EQ(judge.deviation(1, log_time, 2, 0, 0.3), 0);
}

TEST(GoalJudge, WithoutRequestsLatencyCountsTheTimeOfASample) {
  const Goal goal{.objective = Objective::latency};
  EXPECT_NEAR(std::exp(GoalJudge(goal, Kind::train, 30).log_value(16, std::log(320), 0)), 0.02,
              1e-12);
}

}  // namespace
}  // namespace gearshift
