// Where two kinds run beside each other: which of them has changed, and whether it matters.
#include <gtest/gtest.h>

#include <cmath>

#include "controller/drift.h"

namespace gearshift {
namespace {

// 40 minibatches of each kind, 25 W.
Observation observed(double train_ms, double infer_ms) {
  Observation observation;
  observation.setting.batch_size = {16, 4};
  const double ms[] = {train_ms, infer_ms};
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    Cost& cost = observation.cost[kind];
    cost.minibatches = 40;
    cost.minibatch_mean = Duration(std::llround(1e6 * ms[kind]));
    cost.minibatch_stddev = cost.minibatch_mean * 3 / 100;
  }
  observation.power_mean_mw = 25'000;
  observation.power_margin_mw = 750;
  return observation;
}

TEST(Drift, TellsTheKindsApart) {
  Drift drift;
  Observation both = observed(40, 40);
  drift.add(both);
  both.cost[index(Kind::infer)].minibatch_mean *= 2;
  EXPECT_FALSE(drift.add(both));
  const auto alarm = drift.add(both);
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::infer_time);
}

// Inference beside training: its share of the time, and how full its batches are, follow the
// requests.
TEST(Drift, AnotherRateOfRequestsIsNoOtherWorld) {
  Observation both = observed(40, 40);
  Observation fewer = both;
  fewer.power_mean_mw = both.power_mean_mw * 13 / 10;
  fewer.cost[index(Kind::infer)].minibatch_mean *= 2;
  Drift drift;
  for (const Observation& one : {both, fewer}) drift.add(one);  // half of an alarm
  drift.change_requests();
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(drift.add(fewer)) << i;
  EXPECT_FALSE(drift.add(both));  // what was seen at the new rate is what counts now
  EXPECT_TRUE(drift.add(both));
}

TEST(Drift, AnotherRateOfRequestsForgetsNothingOfTraining) {
  Observation both = observed(40, 40);
  Drift drift;
  drift.add(both);
  drift.change_requests();
  both.cost[index(Kind::train)].minibatch_mean *= 2;
  EXPECT_FALSE(drift.add(both));
  const auto alarm = drift.add(both);
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::train_time);
}

// Beside 40 ms of training 0.4 ms of inference are a hundredth of the time: even three times as
// much is none of the 3 to 4 % of all that a change must be.
TEST(Drift, AKindThatTakesLittleOfTheTimeMustChangeAsMuchMore) {
  Drift drift;
  drift.add(observed(40, 0.4));
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(drift.add(observed(40, i % 2 == 0 ? 1.2 : 0.8))) << i;
  EXPECT_FALSE(drift.add(observed(40, 20)));
  const auto alarm = drift.add(observed(40, 20));
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::infer_time);
}

}  // namespace
}  // namespace gearshift
