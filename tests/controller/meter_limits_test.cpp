// The meter at its limits: how long a measurement may take, how it fails, what it says of power.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/fakes/metered.h"

namespace gearshift {
namespace {

using fakes::at;
using fakes::kInstant;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Expected kWarm{.runs = true, .warm = true, .set_sequence = 0};
constexpr Expected kCold{.runs = true, .warm = false, .set_sequence = 0};
constexpr Expected kAbsent{};

class MeterLimitsTest : public fakes::Metered {
 protected:
  MeterLimitsTest() { begin(kWarm); }

  void begin(Expected train, Expected infer = kAbsent) {
    Setting setting;
    setting.batch_size = {16, 1};
    meter_.begin(setting, {train, infer}, at({}));
  }
  void minibatch(Duration received, Duration elapsed, Kind kind = Kind::train) {
    Minibatch minibatch;
    minibatch.kind = kind;
    minibatch.batch_size = kind == Kind::train ? 16 : 1;
    minibatch.elapsed = elapsed;
    minibatch.received = at(received);
    meter_.add(minibatch);
  }
  static Minibatch of(Duration elapsed) {
    Minibatch minibatch;
    minibatch.batch_size = 16;
    minibatch.elapsed = elapsed;
    return minibatch;
  }
  void settle() {
    minibatch(milliseconds(50), milliseconds(50));
    power_until({}, milliseconds(2000), 20000);
  }
  std::optional<Observation> answer_of_noise();
  void expect_outcome(Outcome outcome, Duration since) const {
    const auto answer = meter_.answer(at(since));
    ASSERT_TRUE(answer) << "no answer yet";
    EXPECT_EQ(answer->outcome, outcome) << outcome_name(answer->outcome);
  }
};

TEST_F(MeterLimitsTest, AnswersWithWhatItHasPastItsMostTime) {
  settle();
  for (int i = 1; i <= 3; ++i) minibatch(seconds(8 * i), milliseconds(40 * i * i));
  EXPECT_FALSE(answers(options_.most_time));
  expect_outcome(Outcome::complete, options_.most_time + kInstant);
  EXPECT_GT(meter_.answer(at(options_.most_time + kInstant))->confidence, options_.confidence);
}

TEST_F(MeterLimitsTest, CallsTooFewMinibatchesPastItsMostTimeStalled) {
  settle();
  for (int i = 1; i <= 2; ++i) minibatch(seconds(12 * i), milliseconds(100));
  EXPECT_FALSE(answers(options_.most_time));
  expect_outcome(Outcome::stalled, options_.most_time + kInstant);
}

TEST_F(MeterLimitsTest, CallsAWarmWorkloadThatSaysNothingStalled) {
  EXPECT_FALSE(answers(options_.stall_after));
  expect_outcome(Outcome::stalled, options_.stall_after + kInstant);
}

TEST_F(MeterLimitsTest, CountsTheStallFromTheNewestMinibatch) {
  settle();
  minibatch(seconds(5), milliseconds(100));
  EXPECT_FALSE(answers(seconds(5) + options_.stall_after));
  expect_outcome(Outcome::stalled, seconds(5) + options_.stall_after + kInstant);
}

// A workload that reports under its old batch size for ever has not taken the setting.
TEST_F(MeterLimitsTest, CountsOnlyMatchingMinibatchesAgainstTheStall) {
  for (int i = 1; i <= 20; ++i) {
    Minibatch other;
    other.batch_size = 8;
    other.received = at(seconds(i));
    meter_.add(other);
  }
  expect_outcome(Outcome::stalled, options_.stall_after + kInstant);
}

TEST_F(MeterLimitsTest, GivesAColdFrameworkItsWarmUp) {
  begin(kCold);
  EXPECT_FALSE(answers(options_.stall_after + kInstant));
  EXPECT_FALSE(answers(options_.first_minibatch_most));
  expect_outcome(Outcome::stalled, options_.first_minibatch_most + kInstant);
}

// A first minibatch of 100 s (kernels are compiled) is longer than most_time: the measurement must
// begin with it, not end.
TEST_F(MeterLimitsTest, MeasuresAColdWorkloadFromItsFirstMinibatch) {
  begin(kCold);
  power_until({}, seconds(100), 5000);
  minibatch(seconds(100), seconds(100));
  EXPECT_FALSE(answers(seconds(100))) << "the time before was the framework's";
  power_until(seconds(100), milliseconds(102000), 20000);
  EXPECT_FALSE(answers(milliseconds(102000)));
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(102000 + 100 * i), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(102300)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->power_mean_mw, 20000) << "the warm-up's own power is not in it";
  EXPECT_EQ(answer->cost[0].minibatch_mean, milliseconds(100));
}

// Each minibatch may take as long as the first.
TEST_F(MeterLimitsTest, WaitsForTheSecondMinibatchTwiceAsLongAsTheFirstTook) {
  begin(kCold);
  minibatch(seconds(30), seconds(30));
  EXPECT_FALSE(answers(seconds(90)));
  expect_outcome(Outcome::stalled, seconds(90) + kInstant);
  begin(kCold);
  minibatch(seconds(5), seconds(5));
  EXPECT_FALSE(answers(seconds(5) + options_.stall_after));
  expect_outcome(Outcome::stalled, seconds(5) + options_.stall_after + kInstant);
}

// The first straddles the change, power settles, and three more count.
TEST_F(MeterLimitsTest, MeasuresAWorkloadWhoseMinibatchesTakeLong) {
  Expected slow = kWarm;
  for (int i = 0; i < 3; ++i) slow.times.add(of(seconds(12)));
  begin(slow);
  minibatch(seconds(6), seconds(12));
  power_until({}, seconds(42), 20000);
  for (int i = 1; i <= 2; ++i) minibatch(seconds(6 + 12 * i), seconds(12));
  EXPECT_FALSE(answers(seconds(41)));
  minibatch(seconds(42), seconds(12));
  const auto answer = meter_.answer(at(seconds(42)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->cost[0].minibatch_mean, seconds(12));
}

TEST_F(MeterLimitsTest, MeasuresASettingTenTimesAsSlowAsThoseBefore) {
  Expected fast = kWarm;
  for (int i = 0; i < 3; ++i) fast.times.add(of(seconds(3)));
  begin(fast);
  minibatch(seconds(15), seconds(15));
  power_until({}, seconds(105), 20000);
  EXPECT_FALSE(answers(seconds(40))) << "the first that may count is under way";
  for (int i = 1; i <= 3; ++i) {
    EXPECT_FALSE(answers(seconds(14 + 30 * i)));
    minibatch(seconds(15 + 30 * i), seconds(30));
  }
  expect_outcome(Outcome::complete, seconds(105));
}

TEST_F(MeterLimitsTest, CallsAWorkloadWhoseMinibatchesTakeLongStalledAfterTenOfThem) {
  Expected slow = kWarm;
  for (int i = 0; i < 3; ++i) slow.times.add(of(seconds(12)));
  begin(slow);
  EXPECT_FALSE(answers(seconds(120)));
  expect_outcome(Outcome::stalled, seconds(120) + kInstant);
}

TEST_F(MeterLimitsTest, TakesTrainingForStarvedNoSoonerThanAMinibatchMayEnd) {
  Expected slow = kWarm;
  for (int i = 0; i < 3; ++i) slow.times.add(of(seconds(8)));
  begin(slow, kWarm);
  power_until({}, seconds(17), 20000);
  for (int i = 1; i <= 850; ++i) minibatch(milliseconds(20 * i), milliseconds(10), Kind::infer);
  EXPECT_FALSE(answers(seconds(16)));
  begin(kWarm, kWarm);
  for (int i = 1; i <= 300; ++i) minibatch(milliseconds(20 * i), milliseconds(10), Kind::infer);
  power_until({}, seconds(9), 20000);
  for (int i = 301; i <= 450; ++i) minibatch(milliseconds(20 * i), milliseconds(10), Kind::infer);
  expect_outcome(Outcome::complete, seconds(9));
}

TEST_F(MeterLimitsTest, CallsAMeasurementWithoutPowerStalled) {
  for (int i = 1; i <= 300; ++i) minibatch(kPeriod * i, kPeriod);
  EXPECT_FALSE(answers(options_.most_time));
  expect_outcome(Outcome::stalled, options_.most_time + kInstant);
}

TEST_F(MeterLimitsTest, WaitsForBothKindsWhereBothRun) {
  begin(kWarm, kWarm);
  minibatch(milliseconds(50), milliseconds(50));
  power_until({}, milliseconds(900), 5000);  // the server is not at work yet
  minibatch(milliseconds(950), milliseconds(10), Kind::infer);
  power_until(milliseconds(900), milliseconds(3000), 20000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(3000 + 100 * i), milliseconds(100));
  EXPECT_FALSE(answers(milliseconds(3300)));
  for (int i = 1; i <= 3; ++i) {
    minibatch(milliseconds(3300 + 10 * i), milliseconds(10), Kind::infer);
  }
  const auto answer = meter_.answer(at(milliseconds(3400)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->cost[0].minibatch_mean, milliseconds(100));
  EXPECT_EQ(answer->cost[1].minibatch_mean, milliseconds(10));
  EXPECT_EQ(answer->power_mean_mw, 20000);
}

TEST_F(MeterLimitsTest, CallsItStalledWhenOneKindOfTwoIs) {
  begin(kWarm, kWarm);
  for (int i = 1; i <= 201; ++i) minibatch(kPeriod * i, kPeriod);
  EXPECT_FALSE(answers(options_.stall_after));
  expect_outcome(Outcome::stalled, options_.stall_after + kInstant);
}

// Of 13 readings of 20 W +- 0.1 W.
std::optional<Observation> MeterLimitsTest::answer_of_noise() {
  begin(kWarm);
  minibatch(milliseconds(50), milliseconds(50));
  power_until({}, milliseconds(700), 20000);
  for (int i = 0; i < 13; ++i) power(milliseconds(800 + 100 * i), i % 2 == 0 ? 20100 : 19900);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  return meter_.answer(at(milliseconds(2300)));
}

// 13 readings of 20 W +- 0.1 W (7 above, 6 below) at 800 ms to 2000 ms: mean 20007.69 mW, variance
// (13 * 100^2 - 13 * 7.6923^2) / 12 = 10769.2, four readings a window: 3 sqrt(10769.2 / 4) = 155.7.
TEST_F(MeterLimitsTest, StatesThreeDeviationsOfAWindowsMeanAsTheMargin) {
  const auto answer = answer_of_noise();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->power_mean_mw, 20008);
  EXPECT_EQ(answer->power_margin_mw, 156);
  EXPECT_EQ(answer->power_max_mw, 20100);
  EXPECT_TRUE(answer->within(20164));
  EXPECT_FALSE(answer->within(20163));
}

// No number of readings averages out what they all are off by.
TEST_F(MeterLimitsTest, StatesTheStepsOfReadingsThatDoNotVaryAsTheMargin) {
  for (const std::int64_t rounding_mw : {100, 430}) {
    meter_ = Meter(options_, kWindow, rounding_mw);
    const auto answer = answer_of_noise();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->power_mean_mw, 20008);
    EXPECT_EQ(answer->power_margin_mw, std::max<std::int64_t>(156, rounding_mw));
  }
}

// Readings of what a counter grew by, looked at a little early and late in turns: 20 W +- 2 W that
// make each other good. And what truly swings, slower than half a window.
TEST_F(MeterLimitsTest, StatesTheNoiseThatIsLeftOfACountersReadingsAsTheMargin) {
  const auto margin_mw = [this](bool counts, int swing_mw) {
    meter_ = Meter(options_, kWindow, 0, counts);
    begin(kWarm);
    minibatch(milliseconds(50), milliseconds(50));
    power_until({}, milliseconds(700), 20000);
    for (int i = 0; i < 16; ++i) {
      power(milliseconds(800 + 100 * i),
            20000 + (i % 2 == 0 ? 2000 : -2000) + (i / 4 % 2 == 0 ? swing_mw : -swing_mw));
    }
    for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2300 + 100 * i), milliseconds(100));
    const auto answer = meter_.answer(at(milliseconds(2600)));
    return answer ? static_cast<double>(answer->power_margin_mw) : -1.0;
  };
  EXPECT_NEAR(margin_mw(false, 0), 3 * 2066 / 2.0, 10) << "four a window, as if they were noise";
  EXPECT_LT(margin_mw(true, 0), 100);
  EXPECT_GT(margin_mw(true, 1000), 1500);
}

// Where a window holds less than one reading, its mean is as noisy as a reading.
TEST_F(MeterLimitsTest, StatesNoLessThanTheNoiseOfAReadingForASlowSensor) {
  minibatch(milliseconds(50), milliseconds(50));
  power(seconds(6), 20100);  // past settle_most
  for (int i = 1; i <= 2; ++i) power(seconds(6 + i), i % 2 == 0 ? 20100 : 19900);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(8000 + 100 * i), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(8300)));
  ASSERT_TRUE(answer);
  // 20100, 19900, 20100: sd 115.470, times 3.
  EXPECT_EQ(answer->power_margin_mw, 346);
}

TEST_F(MeterLimitsTest, CallsPowerAnEstimateIfAnyReadingWasOne) {
  settle();
  power(milliseconds(2100), 20000, /*estimate=*/true);
  power(milliseconds(2200), 20000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2200 + 100 * i), milliseconds(100));
  ASSERT_TRUE(answers(milliseconds(2500)));
  EXPECT_TRUE(meter_.answer(at(milliseconds(2500)))->power_is_estimate);
}

TEST_F(MeterLimitsTest, CarriesNothingOverIntoTheNextMeasurement) {
  settle();
  power(milliseconds(2100), 21000, /*estimate=*/true);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2100 + 100 * i), milliseconds(100));
  ASSERT_TRUE(answers(milliseconds(2400)));
  begin(kWarm);
  EXPECT_FALSE(answers(milliseconds(2400)));
  settle();
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(300));
  const auto answer = meter_.answer(at(milliseconds(2300)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost[0].minibatch_mean, milliseconds(300));
  EXPECT_EQ(answer->cost[0].minibatches, 3U);
  EXPECT_EQ(answer->power_max_mw, 20000);
  EXPECT_FALSE(answer->power_is_estimate);
}

// A client may claim anything; the maths stays finite and says that it is not sure.
TEST_F(MeterLimitsTest, StaysFiniteForMinibatchesThatTookNoTime) {
  settle();
  for (int i = 1; i <= 40; ++i) minibatch(milliseconds(2000 + 10 * i), {});
  const auto answer = meter_.answer(at(milliseconds(2400)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::isfinite(answer->confidence));
  EXPECT_GT(answer->confidence, options_.confidence);
  EXPECT_EQ(answer->cost[0].minibatches, 40U) << "three do not convince it";
}

TEST_F(MeterLimitsTest, WhatBeganInTheSettingIsToldBeforePowerHasSettled) {
  begin(kWarm, kWarm);
  minibatch(milliseconds(100), milliseconds(250));  // had begun before
  minibatch(milliseconds(300), milliseconds(200));
  minibatch(milliseconds(320), milliseconds(20), Kind::infer);
  minibatch(milliseconds(560), milliseconds(240));
  power(milliseconds(500), 20000);
  ASSERT_FALSE(answers(milliseconds(600)));
  const std::array<Cost, kKinds> costs = meter_.so_far();
  const Cost& train = costs[index(Kind::train)];
  EXPECT_EQ(train.minibatches, 2U);
  EXPECT_EQ(train.minibatch_mean, milliseconds(220));
  EXPECT_NEAR(gearshift::seconds(train.minibatch_stddev), 0.02 * std::sqrt(2), 1e-6);
  EXPECT_EQ(costs[index(Kind::infer)].minibatches, 1U);
  EXPECT_EQ(costs[index(Kind::infer)].minibatch_mean, milliseconds(20));
  EXPECT_EQ(costs[index(Kind::infer)].minibatch_stddev, Duration::zero());
}

TEST_F(MeterLimitsTest, AFirstMinibatchThatCompilesIsNotToldOfASettingThatWasCut) {
  begin(kCold);
  EXPECT_EQ(meter_.so_far()[index(Kind::train)].minibatches, 0U);
  minibatch(seconds(20), seconds(19));
  EXPECT_EQ(meter_.so_far()[index(Kind::train)].minibatches, 0U);
  minibatch(milliseconds(20'200), milliseconds(200));
  EXPECT_EQ(meter_.so_far()[index(Kind::train)].minibatches, 1U);
  EXPECT_EQ(meter_.so_far()[index(Kind::train)].minibatch_mean, milliseconds(200));
}

}  // namespace
}  // namespace gearshift
