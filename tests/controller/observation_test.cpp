#include "controller/observation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Observation observed() {
  Observation observation;
  observation.setting.batch_size = {16, 0};
  observation.power_mean_mw = 20000;
  observation.cost[0].minibatch_mean = milliseconds(320);
  observation.cost[0].minibatches = 3;
  return observation;
}

TEST(Observation, GivesTimeAndEnergyOfASample) {
  EXPECT_DOUBLE_EQ(observed().sample_s(Kind::train), 0.02);
  EXPECT_DOUBLE_EQ(observed().sample_j(Kind::train), 0.4);
  EXPECT_DOUBLE_EQ(observed().value({Objective::time}), 0.02);
  EXPECT_DOUBLE_EQ(observed().value({Objective::energy}), 0.4);
}

// Two workloads on one accelerator, at 40 requests a second in batches of 4: one batch each 100 ms.
Observation interleaved(Duration train, Duration infer) {
  Observation observation = observed();
  observation.setting.batch_size = {16, 4};
  observation.cost[0].minibatch_mean = train;
  observation.cost[1].minibatch_mean = infer;
  observation.cost[1].minibatches = 3;
  return observation;
}

TEST(Observation, CountsTheTrainingMinibatchesThatFitBetweenTwoOfInference) {
  const Goal goal{.objective = Objective::throughput, .arrivals_per_s = 40};
  // 80 ms are left, in which 3 of 25 ms fit: 48 samples each 100 ms.
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(25), milliseconds(20)).value(goal), 0.1 / 48);
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(80), milliseconds(20)).value(goal), 0.1 / 16);
  EXPECT_EQ(interleaved(milliseconds(81), milliseconds(20)).value(goal), kInfinity);
  EXPECT_EQ(interleaved(milliseconds(25), milliseconds(101)).value(goal), kInfinity);
}

TEST(Observation, TrainsInAllTheTimeThatRequestsLeaveOverWhereTheyComeOneByOne) {
  const Goal goal{.objective = Objective::throughput, .arrivals_per_s = 40, .one_by_one = true};
  // Inference is busy for 20 ms of each 100 ms.
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(25), milliseconds(20)).value(goal), 0.025 / 16 / 0.8);
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(200), milliseconds(20)).value(goal), 0.2 / 16 / 0.8)
      << "no whole minibatch fits between two batches of requests";
  EXPECT_EQ(interleaved(milliseconds(25), milliseconds(100)).value(goal), kInfinity);
}

TEST(Observation, TrainingMustLeaveTheTimeThatHalfABatchTakesToComeOnAverage) {
  Goal goal{.objective = Objective::throughput,
            .latency = milliseconds(200),
            .arrivals_per_s = 16,
            .one_by_one = true};
  // 125 ms until half of a batch of 4 has come, 20 for inference, of the 180 that are planned with.
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(70), milliseconds(20)).value(goal),
                   0.07 / 16 / 0.92 / 0.97)
      << "a batch that is not full in time";
  EXPECT_EQ(interleaved(milliseconds(71), milliseconds(20)).value(goal), kInfinity);
  goal.arrivals_per_s = 40;
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(150), milliseconds(20)).value(goal), 0.15 / 16 / 0.8);
  EXPECT_EQ(interleaved(milliseconds(151), milliseconds(20)).value(goal), kInfinity)
      << "it does not go on behind a batch";
  goal.latency.reset();
  EXPECT_LT(interleaved(milliseconds(151), milliseconds(20)).value(goal), kInfinity);
}

TEST(Observation, ThroughputOfTrainingAloneIsItsTime) {
  const Goal goal{.objective = Objective::throughput, .arrivals_per_s = 40};
  EXPECT_DOUBLE_EQ(observed().value(goal), 0.02);
  EXPECT_DOUBLE_EQ(interleaved(milliseconds(320), milliseconds(20)).value({Objective::throughput}),
                   0.02);
}

TEST(Observation, IsInfinitelyDearForAKindThatDidNotRun) {
  EXPECT_EQ(observed().sample_s(Kind::infer), kInfinity);
  EXPECT_EQ(observed().sample_j(Kind::infer), kInfinity);
}

TEST(Observation, IsInfinitelyDearWithoutABatchOrAMinibatch) {
  Observation without_batch = observed();
  without_batch.setting.batch_size[0] = 0;
  EXPECT_EQ(without_batch.value({Objective::time}), kInfinity);
  without_batch.setting.batch_size[0] = -16;
  EXPECT_EQ(without_batch.value({Objective::time}), kInfinity);
  Observation without_minibatch = observed();
  without_minibatch.cost[0].minibatches = 0;
  EXPECT_EQ(without_minibatch.value({Objective::time}), kInfinity);
}

// A refused setting has no power: infinity times zero must not become a NaN, which every
// comparison of a policy would let through.
TEST(Observation, IsInfinitelyDearAndNeverNanForEveryFailure) {
  for (int i = 1; i <= static_cast<int>(Outcome::late); ++i) {
    for (const std::int64_t power_mw : {std::int64_t{0}, std::int64_t{20000}}) {
      Observation failed = observed();
      failed.outcome = static_cast<Outcome>(i);
      failed.power_mean_mw = power_mw;
      EXPECT_FALSE(failed.ok());
      EXPECT_EQ(failed.value({Objective::time}), kInfinity) << outcome_name(failed.outcome);
      EXPECT_EQ(failed.value({Objective::energy}), kInfinity) << outcome_name(failed.outcome);
      EXPECT_EQ(failed.sample_j(Kind::infer), kInfinity) << outcome_name(failed.outcome);
    }
  }
}

TEST(Observation, CostsNoEnergyWhereTheBoardDrawsNone) {
  Observation free = observed();
  free.power_mean_mw = 0;
  EXPECT_EQ(free.value({Objective::energy}), 0.0);
}

TEST(Observation, IsWithinACapOnlyWithItsNoiseMargin) {
  Observation observation = observed();
  observation.power_margin_mw = 500;
  EXPECT_TRUE(observation.within(20501));
  EXPECT_TRUE(observation.within(20500));
  EXPECT_FALSE(observation.within(20499));
  EXPECT_FALSE(observation.within(20000)) << "the mean alone would fit";
}

TEST(Observation, IsWithinNoCapAtAllOnlyIfComplete) {
  Observation observation = observed();
  EXPECT_TRUE(observation.within(0));
  observation.outcome = Outcome::over_limit;
  EXPECT_FALSE(observation.within(0));
  EXPECT_FALSE(observation.within(1000000));
}

TEST(Observation, IsValuedByTrainingWhereBothKindsRan) {
  Observation both = observed();
  both.setting.batch_size[1] = 1;
  both.cost[1].minibatch_mean = milliseconds(5);
  both.cost[1].minibatches = 40;
  EXPECT_DOUBLE_EQ(both.value({Objective::time}), 0.02);
  EXPECT_DOUBLE_EQ(both.sample_s(Kind::infer), 0.005);
}

// 8 ms a batch of 4, while training waits.
Observation served_alone() {
  Observation infer = observed();
  infer.setting.run = Run::infer;
  infer.setting.batch_size = {16, 4};
  infer.cost[0] = {};
  infer.cost[1].minibatch_mean = milliseconds(8);
  infer.cost[1].minibatches = 3;
  return infer;
}

// What was measured is a request's, which is none of a training sample.
TEST(Observation, TrainingThatWaitsIsWorthNothingByWhateverCountsIt) {
  Observation infer = served_alone();
  Goal goal{.arrivals_per_s = 40, .reference_s = 1, .reference_j = 1, .priced_power_mw = 20'000};
  for (const double weight : {0.5, 1.0}) {
    goal.energy_weight = weight;
    for (const Objective objective : kObjectives) {
      goal.objective = objective;
      EXPECT_TRUE(infer.keeps(goal));
      if (objective == Objective::latency) continue;
      EXPECT_EQ(infer.value(goal), kInfinity) << objective_name(objective);
    }
  }
  goal.objective = Objective::latency;
  EXPECT_DOUBLE_EQ(infer.value(goal), 0.108);
  goal.arrivals_per_s = 0;
  EXPECT_EQ(infer.value(goal), kInfinity) << "the time of a training sample counts meanwhile";
  infer.setting.run = Run::both;
  EXPECT_EQ(infer.value({Objective::time}), kInfinity) << "requests left no time for it";
  infer.setting.batch_size[0] = 0;
  EXPECT_DOUBLE_EQ(infer.value({Objective::time}), 0.002) << "no trainer is there";
  EXPECT_DOUBLE_EQ(infer.value({Objective::energy}), 0.04);
}

TEST(Observation, TrainingAloneAnswersNoRequests) {
  Observation train = observed();
  train.setting.run = Run::train;
  train.setting.batch_size = {16, 4};
  Goal goal{Objective::throughput, {}, milliseconds(500), 5};
  EXPECT_FALSE(train.keeps(goal));
  EXPECT_EQ(train.value(goal), kInfinity);
  goal.latency.reset();
  EXPECT_FALSE(train.keeps(goal)) << "nor does it keep up with them";
  goal.arrivals_per_s = 0;
  EXPECT_TRUE(train.keeps(goal)) << "none come";
  EXPECT_DOUBLE_EQ(train.value(goal), 0.02);
  goal.arrivals_per_s = 5;
  train.setting.batch_size[1] = 0;
  EXPECT_TRUE(train.keeps(goal)) << "no server is there";
  EXPECT_DOUBLE_EQ(train.value(goal), 0.02);
}

TEST(Observation, CountsAllMinibatchesThatFitExactly) {
  Observation both = observed();
  both.setting.batch_size = {10, 1};
  both.cost[0].minibatch_mean = Duration(100'000);
  both.cost[1].minibatch_mean = Duration(99'700'000);
  both.cost[1].minibatches = 3;
  EXPECT_DOUBLE_EQ(both.value({Objective::throughput, {}, {}, 10}), 0.1 / 30);
}

// Else what runs no training would be taken before all that does.
TEST(Observation, IsWorthNoTrainingWhereThatWaitsForRequests) {
  Observation infer = served_alone();
  Goal goal{Objective::throughput, {}, {}, 40};
  goal.one_by_one = true;
  EXPECT_EQ(infer.value(goal), kInfinity);
  infer.setting.batch_size[0] = 0;
  EXPECT_DOUBLE_EQ(infer.value(goal), 0.002) << "no trainer is there";
}

TEST(Outcome, HasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Outcome::late); ++i) {
    const std::string name(outcome_name(static_cast<Outcome>(i)));
    EXPECT_NE(name, "unknown") << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(outcome_name(Outcome::complete), "complete");
  EXPECT_EQ(outcome_name(static_cast<Outcome>(200)), "unknown");
}

// A batch of 4 at 40 requests a second takes 100 ms to arrive.
Observation inference(Duration minibatch) {
  Observation observation;
  observation.setting.batch_size = {0, 4};
  observation.setting.run = Run::infer;
  observation.power_mean_mw = 20000;
  observation.cost[1].minibatch_mean = minibatch;
  observation.cost[1].minibatches = 3;
  return observation;
}

TEST(Observation, LatencyIsTheWaitForAFullBatchAndTheMinibatch) {
  EXPECT_DOUBLE_EQ(inference(milliseconds(60)).latency_s(40), 0.16);
  EXPECT_DOUBLE_EQ(inference(milliseconds(60)).value({Objective::latency, {}, {}, 40}), 0.16);
  EXPECT_EQ(inference(milliseconds(60)).latency_s(0), kInfinity) << "no rate is known";
  EXPECT_EQ(observed().latency_s(40), kInfinity) << "no inference ran";
}

TEST(Observation, KeepsTheLatencyLimitAtItAndNotPastIt) {
  const Goal goal{Objective::latency, 20000, milliseconds(160), 40};
  EXPECT_TRUE(inference(milliseconds(60)).keeps(goal));
  EXPECT_FALSE(inference(milliseconds(60) + Duration(1)).keeps(goal));
}

TEST(Observation, OneByOneItKeepsTheLatencyWhereHalfABatchDoesByWhatIsPlannedWith) {
  Goal goal{Objective::throughput, 20000, milliseconds(160), 40};
  goal.one_by_one = true;
  EXPECT_TRUE(inference(milliseconds(94)).keeps(goal)) << "50 ms before it, of 144";
  EXPECT_FALSE(inference(milliseconds(94) + Duration(1)).keeps(goal));
  goal.latency = milliseconds(190);
  EXPECT_TRUE(inference(milliseconds(100)).keeps(goal));
  EXPECT_FALSE(inference(milliseconds(101)).keeps(goal)) << "it does not keep up";
}

TEST(Observation, KeepsUpWhenAMinibatchTakesNoLongerThanItsBatchToArrive) {
  const Goal goal{Objective::latency, {}, {}, 40};
  EXPECT_TRUE(inference(milliseconds(100)).keeps(goal));
  EXPECT_FALSE(inference(milliseconds(101)).keeps(goal));
}

TEST(Observation, KeepsNothingOverTheCapWhateverTheLatency) {
  const Goal goal{Objective::latency, 19999, milliseconds(200), 40};
  EXPECT_FALSE(inference(milliseconds(10)).keeps(goal));
}

TEST(Observation, LatencyDoesNotBindTraining) {
  EXPECT_TRUE(observed().keeps({Objective::time, 20000, milliseconds(1), 40}));
}

TEST(Observation, KeepsALimitOfEnergyAtTheLimitAndBreaksItPastIt) {
  Observation observation = observed();
  observation.cost[0].minibatch_mean = milliseconds(250);  // 16 samples at 32 W: half a joule each
  observation.power_mean_mw = 32000;
  EXPECT_TRUE(observation.keeps({.energy_j = 0.5}));
  EXPECT_FALSE(observation.keeps({.energy_j = std::nextafter(0.5, 0)}));
  observation.power_mean_mw = 32001;
  EXPECT_FALSE(observation.keeps({.energy_j = 0.5}));
}

// MobileNet's batches take a fifth to a tenth of the time: what is drawn meanwhile is the
// requests'.
TEST(Observation, ARequestOfAServerThatPausesTakesWhatIsDrawnUntilTheNextOneComes) {
  const Goal goal{.objective = Objective::energy, .arrivals_per_s = 30, .one_by_one = true};
  Observation four = inference(std::chrono::microseconds(12'400));
  four.power_mean_mw = 7660;
  Observation sixteen = inference(std::chrono::microseconds(28'100));
  sixteen.setting.batch_size = {0, 16};
  sixteen.power_mean_mw = 11'610;
  EXPECT_NEAR(four.value(goal), 0.2553, 1e-4);
  EXPECT_NEAR(sixteen.value(goal), 0.387, 1e-4);
  Goal limit{.arrivals_per_s = 30, .one_by_one = true, .energy_j = 0.3};
  EXPECT_TRUE(four.keeps_energy(limit));
  EXPECT_FALSE(sixteen.keeps_energy(limit));
  limit.one_by_one = false;
  EXPECT_TRUE(sixteen.keeps_energy(limit)) << "like clockwork, one minibatch after the other";
  EXPECT_DOUBLE_EQ(four.energy_j({.arrivals_per_s = 1000, .one_by_one = true}), 7.66 * 0.0031)
      << "it never pauses";
  Observation both = interleaved(milliseconds(320), milliseconds(20));
  EXPECT_DOUBLE_EQ(both.energy_j(goal), 0.4) << "training counts";
}

TEST(Observation, WhatIsNearlyAlwaysBusyDoesNotKeepUpWhereLeastEnergyAsksForTheSlowest) {
  Goal goal{.objective = Objective::energy, .arrivals_per_s = 40, .one_by_one = true};
  const Observation busy =
      inference(milliseconds(86));  // of 100 ms that four requests take to come
  EXPECT_FALSE(busy.keeps_up(goal));
  EXPECT_TRUE(inference(milliseconds(84)).keeps_up(goal));
  goal.objective = Objective::time;
  EXPECT_TRUE(busy.keeps_up(goal));
  goal = {.objective = Objective::weighted, .arrivals_per_s = 40};
  EXPECT_TRUE(busy.keeps_up(goal)) << "like clockwork, nothing queues up";
  goal.one_by_one = true;
  EXPECT_FALSE(busy.keeps_up(goal));
  EXPECT_TRUE(interleaved(milliseconds(320), milliseconds(86)).keeps_up(goal))
      << "training gives way";
}

TEST(Observation, WithoutAServerOrARateLatencyCountsTheTimeOfASample) {
  EXPECT_DOUBLE_EQ(observed().value({Objective::latency, {}, {}, 40}), 0.02);
  EXPECT_DOUBLE_EQ(inference(milliseconds(60)).value({Objective::latency}), 0.015);
}

TEST(Observation, FindsEveryOutcomeByItsName) {
  for (std::uint8_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_from_word(outcome_name(outcome)), outcome);
  }
  EXPECT_EQ(outcome_name(static_cast<Outcome>(kOutcomes)), "unknown") << "kOutcomes counts all";
  EXPECT_EQ(outcome_from_word("unknown"), std::nullopt);
  EXPECT_EQ(outcome_from_word("over_limt"), std::nullopt);
}

TEST(Observation, KeepsLimitsOfEnergyAndLatencyTogether) {
  Observation infer = observed();
  infer.setting.run = Run::infer;
  infer.setting.batch_size = {0, 8};
  infer.cost[1] = {.minibatch_mean = milliseconds(250), .minibatches = 3};
  infer.cost[0] = {};
  infer.power_mean_mw = 16000;  // half a joule a sample; 8 requests at 16 a second wait for 0.5 s
  Goal goal{.objective = Objective::energy,
            .latency = milliseconds(750),
            .arrivals_per_s = 16,
            .energy_j = 0.5};
  EXPECT_TRUE(infer.keeps(goal));
  goal.latency = milliseconds(749);
  EXPECT_FALSE(infer.keeps(goal));
  goal.latency = milliseconds(750);
  goal.energy_j = 0.49;
  EXPECT_FALSE(infer.keeps(goal));
}

}  // namespace
}  // namespace gearshift
