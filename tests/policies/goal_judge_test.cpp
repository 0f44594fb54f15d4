#include "policies/numerics/goal_judge.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace gearshift
