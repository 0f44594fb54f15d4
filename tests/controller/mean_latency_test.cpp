// What the latency objective counts of a server whose requests come one by one, against a queue.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

#include "controller/goal.h"
#include "controller/observation.h"

namespace gearshift {
namespace {

constexpr double kRequestsPerS = 60;

Goal least_latency(bool one_by_one) {
  return {
      .objective = Objective::latency, .arrivals_per_s = kRequestsPerS, .one_by_one = one_by_one};
}

// Mean latency of requests that come by chance, in seconds: batches are served in order, full, and
// all take as long.
double simulated_s(std::int32_t batch_size, double minibatch_s) {
  std::mt19937_64 random(17);
  double arrived_s = 0;
  double free_s = 0;
  double waited_s = 0;
  double requests = 0;
  for (int batch = 0; batch < 100'000; ++batch) {
    double sum_s = 0;
    for (std::int32_t i = 0; i < batch_size; ++i) {
      arrived_s -= std::log1p(-std::generate_canonical<double, 53>(random)) / kRequestsPerS;
      sum_s += arrived_s;
    }
    free_s = std::max(free_s, arrived_s) + minibatch_s;
    waited_s += batch_size * free_s - sum_s;
    requests += batch_size;
  }
  return waited_s / requests;
}

TEST(MeanLatency, OneByOneItIsThatOfRequestsThatComeByChance) {
  for (const std::int32_t batch_size : {1, 4, 16}) {
    for (const double busy : {0.3, 0.7, 0.9, 0.95}) {
      const double minibatch_s = busy * batch_size / kRequestsPerS;
      const double simulated = simulated_s(batch_size, minibatch_s);
      EXPECT_NEAR(least_latency(true).counted_latency_s(batch_size, minibatch_s), simulated,
                  0.06 * simulated)
          << batch_size << " at once, busy for " << busy;
    }
  }
}

TEST(MeanLatency, LikeClockworkItIsThatOfTheFirstRequestOfABatch) {
  EXPECT_DOUBLE_EQ(least_latency(false).counted_latency_s(16, 0.1), 16 / kRequestsPerS + 0.1);
}

TEST(MeanLatency, RisesWhereRequestsQueueUpAsWell) {
  double before = 0;
  for (const double minibatch_s : {0.01, 0.0166, 1.0 / 60, 0.0167, 0.02, 1.0}) {
    const double latency = least_latency(true).counted_latency_s(1, minibatch_s);
    EXPECT_TRUE(std::isfinite(latency));
    EXPECT_GT(latency, before) << minibatch_s;
    before = latency;
  }
}

TEST(MeanLatency, AMeasurementAndAPredictionCountTheSame) {
  const Goal goal = least_latency(true);
  EXPECT_DOUBLE_EQ(goal.value(Kind::infer, 4, 0.05, 10), goal.counted_latency_s(4, 0.05));
  Observation answer;
  answer.setting.run = Run::infer;
  answer.setting.batch_size = {0, 4};
  answer.cost[index(Kind::infer)] = {.minibatch_mean = std::chrono::milliseconds(50),
                                     .minibatches = 3};
  EXPECT_DOUBLE_EQ(answer.value(goal), goal.counted_latency_s(4, 0.05));
}

}  // namespace
}  // namespace gearshift
