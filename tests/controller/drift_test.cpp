#include "controller/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests

// 40 minibatches of `ms` with a deviation of 3 %, at `power_w` with one of 1 % a window.
Observation observed(const PowerMode& mode, double ms, double power_w) {
  Observation observation;
  observation.setting.mode = mode;
  observation.setting.batch_size = {16, 0};
  Cost& cost = observation.cost[index(Kind::train)];
  cost.minibatches = 40;
  cost.minibatch_mean = Duration(std::llround(1e6 * ms));
  cost.minibatch_stddev = cost.minibatch_mean * 3 / 100;
  observation.power_mean_mw = std::llround(1e3 * power_w);
  observation.power_margin_mw = observation.power_mean_mw * 3 / 100;
  return observation;
}

// What the guard cut, of which nothing but power was seen.
Observation cut(const Observation& known, std::int64_t power_mw) {
  Observation observation;
  observation.setting = known.setting;
  observation.outcome = Outcome::over_limit;
  observation.power_mean_mw = power_mw;
  return observation;
}

// Normal with deviation 1; the engine's output alone, as everywhere.
double normal(std::mt19937_64& engine) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine() >> 11) * 0x1p-53;
  return sum;
}

TEST(Drift, KeepsQuietOverRepeatsThatDifferAsMeasurementsDo) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Drift drift;
    std::mt19937_64 engine(seed);
    // A day of them, 2.2 s each.
    for (int i = 0; i < 40'000; ++i) {
      const double ms = 40 * (1 + 0.01 * normal(engine));
      const double power_w = 25 * (1 + 0.015 * normal(engine));
      ASSERT_FALSE(drift.add(observed(kFast, ms, power_w))) << "seed " << seed << ", repeat " << i;
    }
  }
}

TEST(Drift, MeetsAClockThatIsAFifthLowerAtTheSecondRepeat) {
  Drift drift;
  for (int i = 0; i < 3; ++i) ASSERT_FALSE(drift.add(observed(kFast, 40, 25)));
  EXPECT_FALSE(drift.add(observed(kFast, 50, 21)));
  const auto alarm = drift.add(observed(kFast, 50, 21));
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->setting.mode, kFast);
  EXPECT_EQ(alarm->quantity, DriftQuantity::train_time);
  EXPECT_NEAR(alarm->expected, 40, 1e-6);
  EXPECT_NEAR(alarm->measured, 50, 1e-6);
  EXPECT_DOUBLE_EQ(alarm->statistic, 7);
  EXPECT_EQ(alarm->repeats, 2U);
  EXPECT_EQ(drift.repeats(), 4U);
  EXPECT_EQ(alarm->text(),
            "train minibatch time 50 ms, expected 40 ms (+25.0 %): statistic 7.0 of 6.0 after 2 "
            "repeats");
}

TEST(Drift, MeetsPowerThatFallsWhereTimesStay) {
  Drift drift;
  drift.add(observed(kFast, 40, 25));
  EXPECT_FALSE(drift.add(observed(kFast, 40, 20)));
  const auto alarm = drift.add(observed(kFast, 40, 20));
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::power);
  EXPECT_NEAR(alarm->expected, 25, 1e-6);
  EXPECT_NEAR(alarm->measured, 20, 1e-6);
}

TEST(Drift, OneOutlierAlarmsNobodyHoweverFarOutItIs) {
  Drift drift;
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(drift.add(observed(kFast, i % 4 == 3 ? 400 : 40, i % 4 == 3 ? 5 : 25))) << i;
  }
}

TEST(Drift, ShiftsWithinTheAllowanceAreNone) {
  Drift drift;
  drift.add(observed(kFast, 40, 25));
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(drift.add(observed(kFast, 41.1, 25.7))) << i;
}

TEST(Drift, AWarmUpThatCreepsIsAtMostOneChange) {
  Drift drift;
  int alarms = 0;
  // Eight percent more power, most of it in the first five minutes of an hour.
  for (int i = 0; i < 1600; ++i) {
    const double power_w = 25 * (1 + 0.08 * (1 - std::exp(-2.25 * i / 150.0)));
    if (!drift.add(observed(kFast, 40, power_w))) continue;
    ++alarms;
    drift.forget();
  }
  EXPECT_EQ(alarms, 1);
}

TEST(Drift, SumsOverTheRepeatsOfAllSettings) {
  Drift drift;
  for (const PowerMode& mode : {kSlow, kMiddle, kFast}) drift.add(observed(mode, 40, 25));
  EXPECT_FALSE(drift.add(observed(kSlow, 52, 25)));
  EXPECT_TRUE(drift.add(observed(kMiddle, 52, 25)));
}

TEST(Drift, TheFirstObservationOfASettingAndTheNextAfterForgettingAreReferences) {
  Drift drift;
  EXPECT_FALSE(drift.add(observed(kFast, 40, 25)));
  EXPECT_EQ(drift.repeats(), 0U);
  EXPECT_FALSE(drift.add(observed(kFast, 80, 25)));
  drift.forget();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(drift.add(observed(kFast, 80, 25)));
}

TEST(Drift, LooksAtNothingThatHasNoCostOrIsAJobsEpoch) {
  Drift drift;
  drift.add(observed(kFast, 40, 25));
  for (int i = 0; i < 5; ++i) {
    Observation stalled = observed(kFast, 400, 5);
    stalled.outcome = Outcome::stalled;
    EXPECT_FALSE(drift.add(stalled));
    Observation epoch = observed(kFast, 400, 5);
    epoch.job.state = JobState::running;
    EXPECT_FALSE(drift.add(epoch));
  }
  EXPECT_EQ(drift.repeats(), 0U);
}

TEST(Drift, AStepOfASensorAtLowPowerIsNoChange) {
  Drift drift;
  drift.add(observed(kSlow, 40, 5.2));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(drift.add(observed(kSlow, 40, i % 3 == 0 ? 5.2 : 5.6))) << i;
  }
}

TEST(Drift, AReadingFarOverWhatASettingTookIsARepeat) {
  Drift drift;
  const Observation known = observed(kFast, 40, 25);
  EXPECT_FALSE(drift.add_excess(cut(known, 32'000))) << "of a setting that nobody knows";
  EXPECT_FALSE(drift.knows(known.setting));
  drift.add(known);
  EXPECT_TRUE(drift.knows(known.setting));
  EXPECT_FALSE(drift.suspects());
  EXPECT_FALSE(drift.add_excess(cut(known, 32'000)));
  EXPECT_TRUE(drift.suspects());
  const auto alarm = drift.add_excess(cut(known, 32'000));
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::power);
  EXPECT_NEAR(alarm->expected, 25, 1e-6);
  EXPECT_NEAR(alarm->measured, 32, 1e-6);
  EXPECT_EQ(drift.repeats(), 2U);
}

// A cap of 26 W cuts a setting that takes 25 W, 1 % a window, whenever noise is four deviations
// out.
TEST(Drift, ReadingsThatNoiseTakesOverACapAreNoChangeHoweverMany) {
  Drift drift;
  const Observation known = observed(kFast, 40, 25);
  drift.add(known);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(drift.add_excess(cut(known, 26'100))) << i;
    EXPECT_FALSE(drift.suspects());
    ASSERT_FALSE(drift.add(known));  // what is held next
  }
}

TEST(Drift, AReadingBelowWhatIsExpectedIsNoEvidenceOfLessPower) {
  Drift drift;
  const Observation known = observed(kFast, 40, 25);
  drift.add(known);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(drift.add_excess(cut(known, 15'000)));
}

TEST(Drift, MinibatchesOfACutMeasurementTellTheirTimes) {
  Drift drift;
  const Observation known = observed(kFast, 40, 25);
  drift.add(known);
  Observation lighter = cut(known, 25'600);  // within noise
  lighter.cost[index(Kind::train)] = observed(kFast, 28, 25).cost[index(Kind::train)];
  lighter.cost[index(Kind::train)].minibatches = 5;
  Observation few = lighter;
  few.cost[index(Kind::train)].minibatches = 2;
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(drift.add_excess(few)) << "two may be anything";
  EXPECT_FALSE(drift.suspects());
  EXPECT_FALSE(drift.add_excess(lighter));
  EXPECT_TRUE(drift.suspects());
  const auto alarm = drift.add_excess(lighter);
  ASSERT_TRUE(alarm);
  EXPECT_EQ(alarm->quantity, DriftQuantity::train_time);
  EXPECT_NEAR(alarm->measured, 28, 1e-6);
}

}  // namespace
}  // namespace gearshift
