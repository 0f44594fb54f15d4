#include "controller/drift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

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

// ---- in the loop ----------------------------------------------------------------------------

// Measures the list, then holds the fastest of the answers.
ListPolicy::Decide fastest_of(const std::vector<PowerMode>& modes) {
  return [modes](const PolicyContext& context, const std::vector<Observation>& answers) -> Request {
    if (answers.size() < modes.size()) return measure(modes[answers.size()]);
    const Observation* best = nullptr;
    for (const Observation& answer : answers) {
      if (!answer.within(context.goal.power_mw.value_or(0))) continue;
      if (best == nullptr || answer.sample_s(Kind::train) < best->sample_s(Kind::train)) {
        best = &answer;
      }
    }
    Request request;
    if (best == nullptr) return request;
    request.what = Request::What::hold;
    request.setting = best->setting;
    return request;
  };
}

TEST(DriftInTheLoop, AChangeWhileASettingIsHeldIsNoticedAndEverythingMeasuredAnew) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.world.slower = 1.25; });
  rig.run();

  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(drifts[0].setting.mode, kFast);
  EXPECT_NE(drifts[0].text.find("train minibatch time 50 ms, expected 40 ms (+25.0 %)"),
            std::string::npos)
      << drifts[0].text;
  // In the third measurement that the change had to do with.
  EXPECT_GE(drifts[0].time, Time{} + seconds(45));
  EXPECT_LE(drifts[0].time, Time{} + seconds(55));
  EXPECT_EQ(rig.policy.starts, 2);
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 6U) << "repeats are not recorded, the new search is";
  for (std::size_t i = 3; i < 6; ++i) EXPECT_FALSE(observations[i].observation->from_memory);
  EXPECT_EQ(rig.summary.choices.back().observation->cost[0].minibatch_mean,
            std::chrono::milliseconds(50));
  EXPECT_EQ(rig.world.published.drifts, 1U);
  EXPECT_GT(rig.world.published.repeats, 10U);
  EXPECT_EQ(rig.world.published.measurements, 6U);
}

TEST(DriftInTheLoop, RemeasuringIsEnough) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) {
    return request(Request::What::remeasure, answers.size() % 2 == 0 ? kFast : kMiddle);
  });
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = 8000; });
  rig.run();
  ASSERT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
}

TEST(DriftInTheLoop, AnUnchangedWorldIsSearchedOnce) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), std::chrono::hours(1));
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.policy.starts, 1);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 3U);
  EXPECT_GT(rig.world.published.repeats, 1000U);
}

TEST(DriftInTheLoop, AStallWhileASettingIsHeldIsNoChange) {
  Rig rig(fastest_of({kSlow, kFast}), seconds(200));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(60), [&rig] { rig.world.stalled = true; });
  rig.world.at(seconds(150), [&rig] { rig.world.stalled = false; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 2U);
}

// What is held goes over the cap first, so the guard acts; what it falls back to tells the rest.
TEST(DriftInTheLoop, AChangeThatTheGuardMeetsFirstIsNoticedInWhatItFallsBackTo) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 8000; });
  rig.run();
  EXPECT_EQ(rig.summary.guard_steps, 2U) << "each of the two searches tried the fastest";
  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(drifts[0].setting.mode, kMiddle);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle) << "25 W there now";
  EXPECT_EQ(rig.policy.starts, 2) << "it never went on among answers of the world before";
}

// Power of everything that is known goes over the cap: the cuts themselves are the evidence.
TEST(DriftInTheLoop, AChangeThatTakesAllThatIsKnownOverTheCapIsNoticed) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 14'000; });
  rig.run();
  ASSERT_EQ(rig.recorder.of(NoteType::drift).size(), 1U);
  EXPECT_EQ(rig.policy.starts, 2);
}

// A lighter network under the same name, whose power is soon a little more.
TEST(DriftInTheLoop, TheTimesOfACutMeasurementAreEvidenceToo) {
  Rig rig(fastest_of({kSlow, kMiddle}), seconds(90), 18'000);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(44), [&rig] { rig.world.slower = 0.6; });
  rig.world.at(std::chrono::milliseconds(44'600), [&rig] { rig.hardware.extra_mw = 1200; });
  rig.run();
  ASSERT_EQ(rig.summary.drifts, 1U);
  // The first measurement behind the cut; without its times it took the second, at 48.9 s.
  EXPECT_LE(rig.recorder.of(NoteType::drift)[0].time, Time{} + seconds(47));
}

// One window over the cap, far over what the setting takes: what the board steps down to is
// measured, agrees with what it took, and the policy goes on with all that it knows.
TEST(DriftInTheLoop, ASpikeOfPowerIsNoChange) {
  Rig rig(fastest_of({kSlow, kMiddle, kFast}), seconds(90), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 20'000; });
  rig.world.at(std::chrono::milliseconds(45'600), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.summary.guard_steps, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 3U) << "and the cut is none";
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast) << "which still fits";
}

// A spike makes the test suspect a change, and a sensor that fails ends in the safe setting, which
// nobody has measured. `slower`: than before, from when power is not known.
void suspect_and_lose_power(Rig& rig, double slower) {
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.world.at(seconds(45), [&rig] { rig.hardware.extra_mw = 20'000; });
  rig.world.at(std::chrono::milliseconds(45'600), [&rig] { rig.hardware.extra_mw = 0; });
  rig.world.at(std::chrono::milliseconds(46'500), [&rig, slower] {
    rig.hardware.reading_state = ReadingState::missing;
    rig.world.slower = slower;
  });
  rig.world.at(seconds(50), [&rig] { rig.hardware.reading_state = ReadingState::ok; });
  rig.run();
}

TEST(DriftInTheLoop, ASuspicionIsProvedOnTheBestKnownSettingWhereNothingIsKnownOfTheSafeOne) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(120), 25500);
  suspect_and_lose_power(rig, 1.5);
  const auto drifts = rig.recorder.of(NoteType::drift);
  ASSERT_EQ(drifts.size(), 1U);
  EXPECT_EQ(drifts[0].setting.mode, kMiddle);
  EXPECT_EQ(rig.policy.starts, 2) << "it never went on among answers of the world before";
}

TEST(DriftInTheLoop, ASuspicionThatTheBestKnownSettingDispelsCostsTheSearchNothing) {
  Rig rig(fastest_of({kMiddle, kFast}), seconds(120), 25500);
  suspect_and_lose_power(rig, 1);
  EXPECT_EQ(rig.summary.drifts, 0U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.recorder.of(NoteType::observation).size(), 2U) << "and the cut is none";
  const auto hold = rig.recorder.of(NoteType::hold).back();
  EXPECT_EQ(hold.setting.mode, kFast);
  EXPECT_GE(hold.time, Time{} + seconds(52)) << "not before the other one was measured";
}

TEST(DriftInTheLoop, AChangeIsNoticedWhileTheSafeSettingStandsInForAChoice) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return Request{}; },
          seconds(90));
  rig.world.attach(seconds(1));
  rig.world.at(seconds(60), [&rig] { rig.world.slower = 0.7; });
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 1U);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_TRUE(rig.recorder.of(NoteType::observation).empty());
}

TEST(DriftInTheLoop, AnotherWorkloadIsMeasuredAgainstItself) {
  Rig rig(fastest_of({kSlow, kFast}), seconds(120));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(50));
  rig.world.at(seconds(50), [&rig] { rig.world.slower = 2; });
  rig.world.attach(seconds(60), trainer(2, "mobilenet"));
  rig.run();
  EXPECT_EQ(rig.summary.drifts, 0U);
}

}  // namespace
}  // namespace gearshift
