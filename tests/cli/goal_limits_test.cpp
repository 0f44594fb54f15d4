#include "cli/goal_limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace gearshift {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Inference with batch 4 at 20 W.
Observation seen(Duration minibatch) {
  Observation observation;
  observation.setting.batch_size = {0, 4};
  observation.power_mean_mw = 20'000;
  observation.power_margin_mw = 6;
  observation.cost[index(Kind::infer)] = {minibatch, {}, {}, {}, {}, 10};
  return observation;
}

std::vector<std::string> reasons(const Observation& observation, const Goal& goal) {
  std::vector<std::string> texts;
  for (const BrokenLimit& one : broken_limits(observation, goal)) texts.push_back(one.why);
  EXPECT_EQ(texts.empty(), !observation.ok() || observation.keeps(goal));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(GoalLimits, EachThatIsNotKeptIsTold) {
  // A batch of 4 takes 50 ms to come.
  const Goal goal{.power_mw = 30'000, .latency = milliseconds(75), .arrivals_per_s = 80};
  EXPECT_EQ(reasons(seen(milliseconds(24)), goal), Texts{});
  EXPECT_EQ(reasons(seen(milliseconds(40)), goal), Texts{"answers in 90.0 ms of 75 ms"});
  EXPECT_EQ(reasons(seen(milliseconds(51)), goal), Texts{"falls behind 80 requests/s"});
  Goal tight = goal;
  tight.power_mw = 20'000;
  tight.energy_j = 0.1;
  EXPECT_EQ(reasons(seen(milliseconds(40)), tight),
            (Texts{"over the cap: it needs 20.1 W", "0.200 J of 0.1 J a sample",
                   "answers in 90.0 ms of 75 ms"}));
  Observation late = seen(milliseconds(24));
  late.late_per_s = 80;
  EXPECT_EQ(reasons(late, goal), Texts{"requests were late at 80/s"});
  late.outcome = Outcome::late;
  EXPECT_EQ(reasons(late, goal), Texts{});
}

TEST(GoalLimits, AServerThatWaitsWhileTrainingRunsAnswersNone) {
  Observation alone = seen({});
  alone.setting.batch_size = {16, 4};
  alone.setting.run = Run::train;
  alone.cost[index(Kind::infer)] = {};
  alone.cost[index(Kind::train)] = {milliseconds(100), {}, {}, {}, {}, 10};
  EXPECT_EQ(reasons(alone, {.latency = milliseconds(75), .arrivals_per_s = 80}),
            Texts{"answers none of 80 requests/s"});
  EXPECT_EQ(reasons(alone, {.latency = milliseconds(75)}), Texts{});
}

TEST(GoalLimits, AFigureAboveALimitDoesNotReadAsTheLimit) {
  const Goal goal{.latency = milliseconds(75), .arrivals_per_s = 80, .energy_j = 0.125};
  EXPECT_EQ(reasons(seen(milliseconds(25) + microseconds(2)), goal),
            (Texts{"0.12501 J of 0.125 J a sample", "answers in 75.002 ms of 75 ms"}));
  EXPECT_EQ(watts_upward(30'006), "30.1 W");
  EXPECT_EQ(watts_upward(30'100), "30.1 W");
  EXPECT_EQ(watts_upward(30'000), "30.0 W");
}

// One by one, a batch is served when half of it has come, half of it on average.
TEST(GoalLimits, OfRequestsThatComeOneByOneAreJudgedAsTheyAreKept) {
  Goal goal{.latency = milliseconds(60), .arrivals_per_s = 80, .one_by_one = true};
  EXPECT_EQ(reasons(seen(milliseconds(20)), goal), Texts{});
  goal.one_by_one = false;
  EXPECT_EQ(reasons(seen(milliseconds(20)), goal), Texts{"answers in 70.0 ms of 60 ms"});
}

}  // namespace
}  // namespace gearshift
