#include "controller/meter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/fakes/metered.h"

namespace gearshift {
namespace {

using fakes::at;
using fakes::kInstant;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint32_t kSequence = 7;
constexpr std::int32_t kBatch = 16;

Minibatch minibatch_at(Duration received, Duration elapsed, Kind kind = Kind::train) {
  Minibatch minibatch;
  minibatch.kind = kind;
  minibatch.batch_size = kBatch;
  minibatch.set_sequence = kSequence;
  minibatch.elapsed = elapsed;
  minibatch.fetch_stall = elapsed / 10;
  minibatch.compute = elapsed / 2;
  minibatch.received = at(received);
  return minibatch;
}

// A measurement of a trainer that began at at(0); times count from there.
class MeterTest : public fakes::Metered {
 protected:
  MeterTest() { begin({.runs = true, .warm = true, .set_sequence = kSequence}); }

  void begin(Expected train, Expected infer = {}, std::int64_t rounding_mw = 0) {
    Setting setting;
    setting.batch_size = {kBatch, kBatch};
    meter_ = Meter(options_, kWindow, rounding_mw);
    meter_.begin(setting, {train, infer}, at({}));
  }
  void minibatch(Duration received, Duration took) { meter_.add(minibatch_at(received, took)); }
  // The first minibatch, and power that settles at 800 ms and is known well enough at 2 s.
  void settle() {
    minibatch(milliseconds(50), milliseconds(50));
    power_until({}, milliseconds(2000), 20000);
  }
};

TEST_F(MeterTest, AnswersWithTheLeastMinibatchesWhenTheyAgree) {
  settle();
  for (int i = 1; i <= 2; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  EXPECT_FALSE(answers(milliseconds(2200))) << "two are too few";
  minibatch(milliseconds(2300), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(2300)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  const Cost& cost = answer->cost[0];
  EXPECT_EQ(cost.minibatches, 3U);
  EXPECT_EQ(cost.minibatch_mean, milliseconds(100));
  EXPECT_EQ(cost.minibatch_stddev, Duration{});
  EXPECT_EQ(cost.minibatch_p99, milliseconds(100));
  EXPECT_EQ(cost.fetch_stall_mean, milliseconds(10));
  EXPECT_EQ(cost.compute_mean, milliseconds(50));
  EXPECT_EQ(answer->confidence, 0.0);
  EXPECT_EQ(answer->power_mean_mw, 20000);
  EXPECT_EQ(answer->power_max_mw, 20000);
  EXPECT_EQ(answer->power_margin_mw, 0);
  EXPECT_FALSE(answer->power_is_estimate);
  EXPECT_EQ(answer->cost[1].minibatches, 0U);
}

TEST_F(MeterTest, IgnoresTheFirstMinibatchAndThoseBeforePowerSettled) {
  minibatch(milliseconds(50), milliseconds(1));
  minibatch(milliseconds(700), milliseconds(1));
  power_until({}, milliseconds(700), 20000);
  minibatch(milliseconds(799), milliseconds(1));
  power_until(milliseconds(700), milliseconds(2000), 20000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  ASSERT_TRUE(answers(milliseconds(2300)));
  EXPECT_EQ(meter_.answer(at(milliseconds(2300)))->cost[0].minibatch_mean, milliseconds(100));
}

TEST_F(MeterTest, IgnoresAMinibatchThatBeganBeforeTheSettingWasApplied) {
  settle();
  minibatch(milliseconds(2100), milliseconds(2100) + kInstant);
  for (int i = 2; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  EXPECT_FALSE(answers(milliseconds(2300)));
  minibatch(milliseconds(2400), milliseconds(2400));  // began in the very instant
  EXPECT_FALSE(answers(milliseconds(2400))) << "it counts, and the times are far apart now";
  EXPECT_EQ(meter_.answer(at(milliseconds(30001)))->cost[0].minibatches, 3U);
}

TEST_F(MeterTest, IgnoresMinibatchesOfAnotherBatchSizeSetCommandOrKind) {
  settle();
  for (int i = 1; i <= 50; ++i) {
    Minibatch other = minibatch_at(milliseconds(2000 + i), milliseconds(1));
    other.batch_size = i % 2 == 0 ? kBatch + 1 : 0;
    meter_.add(other);
    other = minibatch_at(milliseconds(2000 + i), milliseconds(1));
    other.set_sequence = i % 2 == 0 ? kSequence - 1 : kSequence + 1;
    meter_.add(other);
    meter_.add(minibatch_at(milliseconds(2000 + i), milliseconds(1), Kind::infer));
  }
  EXPECT_FALSE(answers(milliseconds(2300)));
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2100 + 100 * i), milliseconds(100));
  ASSERT_TRUE(answers(milliseconds(2400)));
  EXPECT_EQ(meter_.answer(at(milliseconds(2400)))->cost[0].minibatch_mean, milliseconds(100));
}

// Requests that would be late do not wait for the batch to fill.
TEST_F(MeterTest, CountsABatchOfRequestsThatIsHalfFullByTheTimeOfASample) {
  begin({}, {.runs = true, .warm = true, .set_sequence = kSequence});
  meter_.add(minibatch_at(milliseconds(50), milliseconds(50), Kind::infer));
  power_until({}, milliseconds(2000), 20000);
  for (int i = 1; i <= 3; ++i) {
    Minibatch part = minibatch_at(milliseconds(2000 + 100 * i), milliseconds(40), Kind::infer);
    part.batch_size = kBatch / 2 - 1;
    meter_.add(part);
    EXPECT_FALSE(answers(milliseconds(2000 + 100 * i)));
    part.batch_size = kBatch / 2;
    meter_.add(part);
  }
  ASSERT_TRUE(answers(milliseconds(2300)));
  const Cost cost = meter_.answer(at(milliseconds(2300)))->cost[1];
  EXPECT_EQ(cost.minibatches, 3U);
  EXPECT_EQ(cost.minibatch_mean, milliseconds(80));
}

TEST_F(MeterTest, AnswersWhereRequestsLeaveNoTimeToTrain) {
  const Expected both{.runs = true, .warm = true, .set_sequence = kSequence};
  begin(both, both);
  for (int i = 1; i <= 80; ++i) {
    power(milliseconds(100 * i), 20000);
    meter_.add(minibatch_at(milliseconds(100 * i), milliseconds(80), Kind::infer));
    EXPECT_TRUE(i > 50 || !answers(milliseconds(100 * i))) << i;
  }
  ASSERT_TRUE(answers(milliseconds(8000)));
  const Observation answer = *meter_.answer(at(milliseconds(8000)));
  EXPECT_TRUE(answer.ok());
  EXPECT_EQ(answer.cost[index(Kind::train)].minibatches, 0U);
  EXPECT_GT(answer.cost[index(Kind::infer)].minibatches, 2U);
  Goal goal;
  goal.objective = Objective::throughput;
  goal.arrivals_per_s = 40;
  EXPECT_TRUE(std::isinf(answer.value(goal)));
}

// Minibatches of 0.9 and 1.1 times the time by turns, until there is an answer; how many counted.
TEST_F(MeterTest, KnowsWhatTakesLittleOfTheTimeLessExactly) {
  const auto counted = [this](Duration train, Duration infer) {
    const Expected both{.runs = true, .warm = true, .set_sequence = kSequence};
    begin(both, both);
    for (int i = 1; i <= 200; ++i) {
      const Duration now = milliseconds(100 * i);
      power(now, 20000);
      meter_.add(minibatch_at(now, train));
      meter_.add(minibatch_at(now, (i % 2 == 0 ? 9 : 11) * infer / 10, Kind::infer));
      const auto answer = meter_.answer(at(now));
      if (answer) return answer->cost[index(Kind::infer)].minibatches;
    }
    return 0U;
  };
  const std::uint32_t half = counted(milliseconds(40), milliseconds(40));
  const std::uint32_t sixth = counted(milliseconds(50), milliseconds(10));
  EXPECT_GT(half, 25U) << "4 %";
  EXPECT_LT(sixth, 18U) << "10 %, known by the time that power is";
  EXPECT_GE(sixth, 3U);
}

// Power goes up and down by 1 W, each for two windows: a mean of a window is 19 or 21 W at times.
TEST_F(MeterTest, TakesTheSwingOfInterleavedPowerForNoise) {
  const auto margin_mw = [this](bool interleaves) {
    const Expected both{.runs = true, .warm = true, .set_sequence = kSequence};
    begin(both, interleaves ? both : Expected{});
    for (int i = 1; i <= 200; ++i) {
      const Duration now = milliseconds(100 * i);
      power(now, i % 16 < 8 ? 19000 : 21000);
      if (i % 4 != 0) continue;
      meter_.add(minibatch_at(now, milliseconds(i % 8 == 0 ? 90 : 110)));
      if (interleaves) meter_.add(minibatch_at(now, milliseconds(100), Kind::infer));
      if (const auto answer = meter_.answer(at(now))) return answer->power_margin_mw;
    }
    return std::int64_t{0};
  };
  EXPECT_NEAR(static_cast<double>(margin_mw(false)), 1500, 200) << "as if readings were noise";
  EXPECT_GT(margin_mw(true), 2000);
}

// In turns of 100 ms, so that each window holds as much of both; readings come in steps of 860 mW.
TEST_F(MeterTest, WhatStepsHideAveragesOutWhereTurnsMovePowerAndElseNot) {
  const auto margin_mw = [this](bool interleaves, std::int64_t swing_mw) {
    const Expected both{.runs = true, .warm = true, .set_sequence = kSequence};
    begin(both, interleaves ? both : Expected{}, 430);
    for (int i = 1; i <= 200; ++i) {
      const Duration now = milliseconds(100 * i);
      power(now, 20000 + (i % 2 == 0 ? swing_mw : -swing_mw));
      if (i % 4 != 0) continue;
      meter_.add(minibatch_at(now, milliseconds(100)));
      if (interleaves) meter_.add(minibatch_at(now, milliseconds(100), Kind::infer));
      if (const auto answer = meter_.answer(at(now))) return answer->power_margin_mw;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(margin_mw(true, 0), 430) << "they stand still";
  EXPECT_EQ(margin_mw(false, 80), 430) << "what one rail shows says nothing of the others";
  EXPECT_LT(margin_mw(true, 80), 400);
  EXPECT_GT(margin_mw(true, 80), 300) << "430 mW times exp(-(pi 80 / 430)^2 / 2) is 362";
}

TEST_F(MeterTest, DoesNotCountASmallerMinibatchOfTraining) {
  settle();
  Minibatch part = minibatch_at(milliseconds(2100), milliseconds(40));
  part.batch_size = kBatch - 1;
  for (int i = 0; i < 3; ++i) meter_.add(part);
  EXPECT_FALSE(answers(milliseconds(2300)));
}

TEST_F(MeterTest, DoesNotCallPowerSettledBeforeTheWorkloadIsAtWork) {
  power_until({}, milliseconds(7000), 5000);  // idle, and past settle_most
  minibatch(milliseconds(7050), milliseconds(50));
  power_until(milliseconds(7000), milliseconds(10000), 20000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(10000 + 100 * i), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(10300)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->power_mean_mw, 20000) << "nothing of the idle power is in it";
}

TEST_F(MeterTest, WaitsForTwoWindowsEvenIfPowerIsFlat) {
  minibatch(milliseconds(50), milliseconds(50));
  power_until({}, milliseconds(700), 90000);
  power(milliseconds(800) - kInstant, 90000);
  EXPECT_FALSE(answers(milliseconds(799)));
  power_until(milliseconds(800), milliseconds(2100), 90000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  EXPECT_TRUE(answers(milliseconds(2300)));
}

// 20 W in the later window: 3 % of it, 600 mW, is the limit.
TEST_F(MeterTest, CallsPowerSettledWhenTwoWindowsDifferByTheToleranceAndNotByMore) {
  for (const std::int64_t early_mw : {19400, 19399}) {
    begin({.runs = true, .warm = true, .set_sequence = kSequence});
    minibatch(milliseconds(50), milliseconds(50));
    power_until({}, milliseconds(400), early_mw);
    power_until(milliseconds(400), milliseconds(800), 20000);
    // Counts only if power has settled at 800 ms.
    minibatch(milliseconds(810), milliseconds(100));
    power_until(milliseconds(800), milliseconds(2000), 20000);
    for (int i = 1; i <= 2; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
    EXPECT_EQ(answers(milliseconds(2200)), early_mw == 19400) << early_mw;
  }
}

TEST_F(MeterTest, CallsPowerSettledAtLastThoughItNeverIs) {
  minibatch(milliseconds(50), milliseconds(50));
  // Grows by a twentieth a reading, so that each window is a fifth above the one before.
  int i = 0;
  for (double mw = 5000; kPeriod * (i + 1) < options_.settle_most; ++i, mw *= 1.05) {
    power(kPeriod * (i + 1), std::llround(mw));
    if (kPeriod * (i + 1) > milliseconds(3000)) {
      minibatch(kPeriod * (i + 1), milliseconds(90));
    }
  }
  const auto early = meter_.answer(at(std::chrono::seconds(31)));
  ASSERT_TRUE(early);
  EXPECT_EQ(early->outcome, Outcome::stalled) << "not one of them counts before settle_most";
  power_until(kPeriod * i, milliseconds(7200), 15000);
  for (int j = 1; j <= 3; ++j) minibatch(milliseconds(7200 + 100 * j), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(7500)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->power_mean_mw, 15000);
}

TEST_F(MeterTest, NeedsSettledPowerForItsLeastTime) {
  minibatch(milliseconds(50), milliseconds(50));
  power_until({}, milliseconds(1900), 20000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(1500 + 100 * i), milliseconds(100));
  power(milliseconds(2000) - kInstant, 20000);
  EXPECT_FALSE(answers(milliseconds(2000))) << "1.2 s from 800 ms are not full";
  power(milliseconds(2000), 20000);
  EXPECT_TRUE(answers(milliseconds(2000)));
}

TEST_F(MeterTest, IgnoresReadingsTakenBeforeTheSettingWasAppliedOrOutOfOrder) {
  power(-milliseconds(100), 90000);
  power({}, 90000);
  settle();
  power(milliseconds(1500), 90000);
  power(milliseconds(2000), 90000);
  for (int i = 1; i <= 3; ++i) minibatch(milliseconds(2000 + 100 * i), milliseconds(100));
  const auto answer = meter_.answer(at(milliseconds(2300)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->power_mean_mw, 20000);
  EXPECT_EQ(answer->power_max_mw, 20000);
}

// Three times 98, 100 and 102 ms: sd 2 ms, t(2) = 4.303, so 4.303 * 2 / sqrt(3) / 100 = 0.049687.
TEST_F(MeterTest, StatesItsConfidenceByStudentsT) {
  for (const double wanted : {0.0497, 0.0496}) {
    options_.confidence = wanted;
    begin({.runs = true, .warm = true, .set_sequence = kSequence});
    settle();
    minibatch(milliseconds(2100), milliseconds(98));
    minibatch(milliseconds(2200), milliseconds(100));
    minibatch(milliseconds(2300), milliseconds(102));
    ASSERT_EQ(answers(milliseconds(2300)), wanted > 0.04969) << wanted;
  }
  const auto answer = meter_.answer(at(std::chrono::seconds(31)));
  ASSERT_TRUE(answer);
  EXPECT_NEAR(answer->confidence, 0.049687, 1e-6);
  EXPECT_EQ(answer->cost[0].minibatch_stddev, milliseconds(2));
  EXPECT_EQ(answer->cost[0].minibatch_p99, milliseconds(102));
}

// Beyond the printed table t is an expansion; it may not promise more than the true t does.
TEST_F(MeterTest, StatesItsConfidenceWithinAHundredthOfATruePointOfT) {
  const std::pair<std::uint32_t, double> kTrue[] = {{10, 2.2281}, {11, 2.2010}, {12, 2.1788},
                                                    {15, 2.1314}, {20, 2.0860}, {30, 2.0423},
                                                    {39, 2.0227}};
  for (const auto& [degrees, t] : kTrue) {
    options_.confidence = 1e-9;
    begin({.runs = true, .warm = true, .set_sequence = kSequence});
    settle();
    const std::uint32_t n = degrees + 1;
    for (std::uint32_t i = 0; i < n; ++i) {
      minibatch(milliseconds(2100 + 100 * i), milliseconds(i % 2 == 0 ? 90 : 110));
    }
    const auto answer = meter_.answer(at(std::chrono::seconds(31)));
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->cost[0].minibatches, n);
    const double mean = gearshift::seconds(answer->cost[0].minibatch_mean);
    const double stddev = gearshift::seconds(answer->cost[0].minibatch_stddev);
    EXPECT_NEAR(answer->confidence * mean * std::sqrt(n) / stddev, t, 0.005) << degrees;
  }
}

TEST_F(MeterTest, WaitsForNoMoreThanTheMostMinibatchesAndLosesNoneThatCome) {
  settle();
  for (int i = 1; i <= 39; ++i) {
    minibatch(milliseconds(2000 + 100 * i), milliseconds(i % 2 == 0 ? 50 : 150));
  }
  EXPECT_FALSE(answers(milliseconds(6000)));
  minibatch(milliseconds(6000), milliseconds(50));
  ASSERT_TRUE(answers(milliseconds(6000)));
  minibatch(milliseconds(6100), milliseconds(9));
  const auto answer = meter_.answer(at(milliseconds(6100)));
  EXPECT_EQ(answer->cost[0].minibatches, 41U);
  EXPECT_EQ(answer->cost[0].minibatch_mean, Duration(milliseconds(40 * 100 + 9)) / 41);
  EXPECT_GT(answer->confidence, options_.confidence) << "and it says how sure it is not";
}

// What a CPU quota catches, behind those that are kept, moves the mean: the deviation tells by how
// much.
TEST_F(MeterTest, StatesTheDeviationOfAllThatTheMeanIsOver) {
  settle();
  for (int i = 1; i <= 60; ++i) {
    minibatch(milliseconds(2000 + 40 * i), milliseconds(i > 40 && i % 5 == 0 ? 31 : 1));
  }
  const auto answer = meter_.answer(at(milliseconds(4400)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost[0].minibatches, 60U);
  EXPECT_EQ(answer->cost[0].minibatch_mean, milliseconds(3));
  // Four of sixty are 28 ms off, the others 2 ms.
  EXPECT_NEAR(static_cast<double>(answer->cost[0].minibatch_stddev.count()),
              1e6 * std::sqrt((4 * 28.0 * 28.0 + 56 * 4.0) / 59), 10);
}

TEST_F(MeterTest, StaysWithinItsStorageWhateverTheOptions) {
  options_.most_minibatches = 100000;
  options_.confidence = 0;
  begin({.runs = true, .warm = true, .set_sequence = kSequence});
  settle();
  for (int i = 1; i <= 200; ++i) {
    minibatch(milliseconds(2000 + 10 * i), milliseconds(i % 2 == 0 ? 5 : 15));
  }
  const auto answer = meter_.answer(at(milliseconds(4000)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->cost[0].minibatches, 200U);
  EXPECT_EQ(answer->cost[0].minibatch_p99, milliseconds(15));
}

}  // namespace
}  // namespace gearshift
