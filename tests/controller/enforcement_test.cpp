// Limits hold whatever the policy says: caps, unknown power, outside writers.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Enforcement, AMeasurementOverTheCapIsCutAndTheLastSettingWithinItTaken) {
  LowRig rig(then_hold({kMiddle, kFast}, kMiddle), seconds(60), 20000);
  rig.world.attach(seconds(1));
  rig.run();

  ASSERT_EQ(rig.policy.answers.size(), 2U);
  EXPECT_TRUE(rig.policy.answers[0].ok());
  EXPECT_EQ(rig.policy.answers[1].outcome, Outcome::over_limit);
  EXPECT_EQ(rig.policy.answers[1].limit_mw, 20000);
  EXPECT_EQ(rig.summary.guard_steps, 1U);
  // The step down goes to what is known to fit, not to the safe mode.
  const auto settings = rig.recorder.of(NoteType::setting);
  ASSERT_GE(settings.size(), 3U);
  EXPECT_EQ(settings[1].setting.mode, kFast);
  EXPECT_EQ(settings[2].setting.mode, kMiddle);
  // Windows of 400 ms: over for the rest of one window after the first reading that shows it.
  EXPECT_LE(rig.over_cap_s, 0.8);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

TEST(Enforcement, TheClocksAreWrittenInTheTickOfTheFirstReadingOverTheCap) {
  LowRig rig(then_hold({kMiddle, kFast}, kMiddle), seconds(60), 20000);
  rig.world.attach(seconds(1));
  rig.run();
  const Time over = rig.time_of(NoteType::over_cap);
  const auto settings = rig.recorder.of(NoteType::setting);
  EXPECT_EQ(settings[2].time, over);
}

TEST(Enforcement, AWorkloadThatWasThereFirstStartsUnderTheCapWithoutADetour) {
  LowRig rig(then_hold({kMiddle}, kMiddle), seconds(20), 20000);
  rig.world.attach(seconds(0));
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::setting).at(0).setting.mode, kMiddle);
  EXPECT_EQ(rig.policy.starts, 1);
}

TEST(Enforcement, ACapIsHeldAtTheLimitAndBrokenOneMilliwattPastIt) {
  for (const std::int64_t cap_mw : {22000, 21999}) {
    LowRig rig(then_hold({}, kFast), seconds(30), cap_mw);
    rig.world.attach(seconds(1));
    rig.run();
    EXPECT_EQ(rig.summary.guard_steps > 0, cap_mw == 21999) << cap_mw;
  }
}

TEST(Enforcement, ABlindHoldOverTheCapEndsInASettingWithinIt) {
  LowRig rig(then_hold({kMiddle}, kFast), seconds(120), 20000);
  rig.world.attach(seconds(1));
  rig.run();
  // The policy insists; each time the guard steps down. It never stays over.
  EXPECT_LE(rig.over_cap_s, 0.05 * 120);
  EXPECT_GE(rig.summary.guard_steps, 1U);
}

TEST(Enforcement, ALowerCapIsActedOnInTheTickThatReceivesIt) {
  LowRig rig(then_hold({kSlow, kMiddle, kFast}, kFast), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(40) + milliseconds(37), 18000);
  rig.run();
  const auto goals = rig.recorder.of(NoteType::goal);
  ASSERT_EQ(goals.size(), 2U);
  // An urgent event ends the wait at once: not at the next 100 ms.
  EXPECT_EQ(goals[1].time, Time{} + seconds(40) + milliseconds(37));
  for (const KeptNote& setting : rig.recorder.of(NoteType::setting)) {
    if (setting.time < goals[1].time) continue;
    EXPECT_EQ(setting.time, goals[1].time);
    EXPECT_EQ(setting.setting.mode, kMiddle);  // the best known within 18 W
    break;
  }
}

TEST(Enforcement, ALowerCapWithNothingKnownBelowItGoesToTheSafeSetting) {
  LowRig rig(then_hold({kFast}, kFast), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(30), 18000);
  rig.run();
  for (const KeptNote& setting : rig.recorder.of(NoteType::setting)) {
    if (setting.time < Time{} + seconds(30)) continue;
    EXPECT_EQ(setting.setting.mode, kSlow);
    break;
  }
}

TEST(Enforcement, ALowerCapInMidMeasurementEndsItAndRestartsThePolicy) {
  LowRig rig(then_hold({kFast}, kSlow), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(2), 18000);
  rig.run();
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_FALSE(observations.empty());
  EXPECT_EQ(observations[0].observation->outcome, Outcome::goal_changed);
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.policy.goals[1].power_mw, 18000);
}

TEST(Enforcement, ALooserCapRestartsThePolicyOnlyAfterTheDwell) {
  LowRig rig(then_hold({kSlow}, kSlow), seconds(60), 30000);
  rig.options.goal_dwell = seconds(5);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(30), 18000);
  rig.world.cap(seconds(31), 25000);
  rig.run();
  ASSERT_EQ(rig.policy.starts, 3);
  EXPECT_EQ(rig.policy.goals[2].power_mw, 25000);
  // The guard had the looser cap at once, the policy 5 s after the tighter one.
  EXPECT_EQ(rig.time_of(NoteType::goal, 2), Time{} + seconds(31));
}

TEST(Enforcement, AnInfeasibleCapIsReportedOnceAndTheLowestModeHeld) {
  LowRig rig(then_hold({kFast}, kFast), seconds(60), 6000);
  rig.world.attach(seconds(1));
  rig.run();
  int reports = 0;
  for (const KeptNote& note : rig.recorder.of(NoteType::over_cap)) {
    reports += note.text.starts_with("infeasible: ") ? 1 : 0;
  }
  EXPECT_EQ(reports, 1);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_EQ(rig.policy.starts, 0) << "whatever it asked for would draw more";
}

TEST(Enforcement, AnInfeasibleCapThatRisesOrIsLiftedAsksThePolicyAgain) {
  for (const std::optional<std::int64_t> cap_mw :
       {std::optional<std::int64_t>(25000), std::optional<std::int64_t>()}) {
    LowRig rig(then_hold({kFast}, kFast), seconds(60), 6000);
    rig.world.attach(seconds(1));
    rig.world.cap(seconds(30), cap_mw.value_or(0));
    rig.run();
    EXPECT_EQ(rig.policy.starts, 1);
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}));
  }
}

TEST(Enforcement, AWorkloadThatFitsAnInfeasibleCapIsAskedFor) {
  LowRig rig(then_hold({}, kMiddle), seconds(60), 18000);
  rig.hardware.extra_mw = 9000;  // 19 W in the lowest mode
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = 0; });
  rig.world.detach(seconds(29));
  Workload lighter = trainer();
  lighter.handle = 2;
  lighter.name = BoundedText<64>("lighter");
  rig.world.attach(seconds(31), lighter);
  rig.run();
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

TEST(Enforcement, AModeWithinTheCapIsNotCutForTheLaggingReadingOfTheOneBefore) {
  for (const double lag_s : {0.0, 0.43, 0.7}) {
    const auto decide = [](const PolicyContext& context, const std::vector<Observation>& answers) {
      if (answers.size() < 2) return measure(answers.empty() ? kMiddle : kFast);
      return hold(context.goal.power_mw ? kMiddle : kFast);
    };
    LowRig rig(decide, seconds(60), std::nullopt);
    rig.hardware.lag_s = lag_s;
    rig.world.attach(seconds(1));
    rig.world.cap(seconds(40), 17300);  // the middle mode draws 17 W, the fast one 22
    rig.run();
    EXPECT_EQ(rig.summary.guard_steps, 0U) << lag_s;
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000})) << lag_s;
    for (const KeptNote& note : rig.recorder.of(NoteType::observation)) {
      EXPECT_TRUE(note.observation->ok()) << lag_s;
    }
  }
}

TEST(Enforcement, AStaleReadingIsDangerPastTheLimitAndNotAtIt) {
  for (const bool past : {false, true}) {
    LowRig rig(then_hold({kFast}, kFast), seconds(60), 30000);
    rig.world.attach(seconds(1));
    rig.world.at(seconds(30), [&rig] { rig.hardware.frozen = true; });
    // stale_after is 1 s: the last reading is from 29.9 s.
    rig.world.at(past ? milliseconds(31000) : milliseconds(30900),
                 [&rig] { rig.hardware.frozen = false; });
    rig.run();
    EXPECT_EQ(rig.recorder.of(NoteType::power_unknown).size(), 0U) << past;
  }
  LowRig rig(then_hold({kFast}, kFast), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.frozen = true; });
  rig.run();
  const auto notes = rig.recorder.of(NoteType::power_unknown);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].text, "stale power reading");
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_FALSE(rig.world.published.power_known);
}

TEST(Enforcement, MissingAndAbsurdReadingsAreDangerAndTheRunRecovers) {
  for (const ReadingState state : {ReadingState::missing, ReadingState::absurd}) {
    LowRig rig(then_hold({kFast}, kFast), seconds(90), 30000);
    rig.world.attach(seconds(1));
    rig.world.at(seconds(30), [&rig, state] { rig.hardware.reading_state = state; });
    rig.world.at(seconds(40), [&rig] { rig.hardware.reading_state = ReadingState::ok; });
    rig.run();
    const auto notes = rig.recorder.of(NoteType::power_unknown);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].text.find("fake sensor says so"), std::string::npos);
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}));
  }
}

TEST(Enforcement, ABoardThatDidNotAnswerAndComesBackOverTheCapIsSetAgain) {
  for (const int ms : {40'000, 40'500}) {
    LowRig rig(then_hold({kMiddle}, kMiddle), seconds(90), 20000);
    Workload one_batch = trainer();  // smaller ones would be asked for, and the mode with them
    one_batch.batch_sizes = {16};
    one_batch.batch_size_count = 1;
    rig.world.attach(seconds(1), one_batch);
    rig.world.at(seconds(30), [&rig] {
      rig.hardware.reading_state = ReadingState::missing;
      rig.hardware.gone = true;
    });
    // A step down that was refused is asked for again each second.
    rig.world.at(milliseconds(ms), [&rig] {
      rig.hardware.reading_state = ReadingState::ok;
      rig.hardware.gone = false;
      rig.hardware.values = {4, 900000};  // as after a reset: 22 W
    });
    std::int64_t soon = 0;  // cores take longer
    rig.world.at(milliseconds(ms + 200), [&] { soon = rig.hardware.values[1]; });
    rig.run();
    EXPECT_EQ(soon, 300000) << "of the safe mode, which was refused";
    EXPECT_EQ(reports(rig, "infeasible"), 0U);
    EXPECT_EQ(rig.recorder.of(NoteType::power_unknown).size(), 1U);
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
  }
}

TEST(Enforcement, AnOutsideWriterIsSeenInOnePeriodReportedOnceAndUndone) {
  LowRig rig(then_hold({kMiddle}, kMiddle), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.values[1] = 900000; });
  rig.world.at(seconds(31), [&rig] { rig.hardware.values[1] = 900000; });
  rig.run();
  const auto notes = rig.recorder.of(NoteType::outside_writer);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].text, "gpu_mhz: another program wrote 900, we had set 600; set again");
  EXPECT_EQ(notes[0].time, Time{} + seconds(30));
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

TEST(Enforcement, AnOutsideWriterInMidMeasurementStartsItAgainAndIsGivenUpOnAtLast) {
  LowRig rig(then_hold({kMiddle}, kSlow), seconds(60), 30000);
  rig.world.attach(seconds(1));
  for (int i = 0; i < 40; ++i) {
    rig.world.at(milliseconds(1500 + 200 * i), [&rig] { rig.hardware.values[1] = 900000; });
  }
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::outside_writer);
}

// Of two settings that fit, the mode of one with the batch size of the other may not: 25.2 W here.
TEST(Enforcement, AChangeOfBatchSizeIsNeverHeavierThanBothSettings) {
  for (const bool grows : {false, true}) {
    LowRig rig(
        [grows](const PolicyContext&, const std::vector<Observation>& answers) {
          const Request large = measure(kSlow, 32), small = measure(kFast, 8);
          if (answers.size() == 2) return hold(kFast, 8);
          return (answers.size() == 1) == grows ? large : small;
        },
        seconds(60), 24000);
    rig.hardware.sample_mw = 100;
    rig.world.answers_after = seconds(1);
    rig.world.attach(seconds(1));
    rig.run();
    ASSERT_EQ(rig.policy.answers.size(), 2U);
    EXPECT_TRUE(rig.policy.answers[0].ok());
    EXPECT_TRUE(rig.policy.answers[1].ok());
    EXPECT_EQ(rig.summary.guard_steps, 0U);
    EXPECT_EQ(rig.over_cap_s, 0);
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}));
  }
}

TEST(Enforcement, AModeWaitsForASmallerBatchNoLongerThanHalfOfWhatTheWorkloadHas) {
  LowRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
        if (answers.empty()) return measure(kFast, 8);
        return {};
      },
      seconds(90), std::nullopt);
  rig.world.silent = true;
  rig.world.attach(seconds(1));
  std::vector<std::int64_t> waiting, given_up;
  rig.world.at(seconds(30), [&] { waiting = rig.hardware.values; });
  rig.world.at(seconds(33), [&] { given_up = rig.hardware.values; });
  rig.run();
  EXPECT_EQ(waiting, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_EQ(given_up, (std::vector<std::int64_t>{4, 900000}));
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 1U);
  EXPECT_EQ(observations[0].observation->outcome, Outcome::timed_out);
}

TEST(Enforcement, AStepDownWaitsForNoBatch) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return measure(kMiddle, 8); },
          seconds(30), 30000);
  rig.world.silent = true;
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(10), 12000);
  std::vector<std::int64_t> before, after;
  rig.world.at(seconds(9), [&] { before = rig.hardware.values; });
  rig.world.at(seconds(12), [&] { after = rig.hardware.values; });
  rig.run();
  EXPECT_EQ(before, (std::vector<std::int64_t>{4, 900000}));
  EXPECT_EQ(after, (std::vector<std::int64_t>{1, 300000}));
}

TEST(Enforcement, WhereThereAreNoKnobsNoStepDownIsTold) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold({}); },
          seconds(20), 10'000);
  rig.hardware.space.knobs.clear();
  rig.board = fake_board(rig.hardware);
  rig.world.attach(seconds(1));
  rig.run();
  const auto notes = rig.recorder.of(NoteType::over_cap);
  ASSERT_GE(notes.size(), 2U);
  EXPECT_EQ(notes[0].text, "no knob can be set here to step down");
  EXPECT_TRUE(notes[1].text.starts_with("infeasible: ")) << notes[1].text;
}

// A driver that is busy for a moment must not cost the cap for good.
TEST(Enforcement, AStepDownThatAKnobRefusedIsAskedForAgain) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(60), 30'000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(20), [&] { rig.hardware.refuse = "gpu_mhz"; });
  rig.world.cap(milliseconds(20'100), 12'000);
  rig.world.at(seconds(22), [&] {
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 900000}));
    rig.hardware.refuse.clear();
  });
  rig.world.at(milliseconds(23'500), [&] {
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
  });
  rig.run();
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
}

TEST(Enforcement, ASafeModeThatWasRefusedIsNotSaidToBeOverTheCap) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(60), 30'000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(20), [&] { rig.hardware.refuse = "gpu_mhz"; });
  rig.world.cap(milliseconds(20'100), 12'000);
  rig.run();
  const auto notes = rig.recorder.of(NoteType::over_cap);
  ASSERT_FALSE(notes.empty());
  EXPECT_TRUE(notes[0].text.starts_with("infeasible: the safe mode could not be set"))
      << notes[0].text;
  EXPECT_TRUE(rig.recorder.of(NoteType::safe).back().text.ends_with("which could not be set"));
}

TEST(Enforcement, ACutSaysThatItsPowerIsAnEstimateWhereItIs) {
  for (const bool estimate : {false, true}) {
    LowRig rig(then_hold({kMiddle, kFast}, kMiddle), seconds(20), 20'000);
    rig.hardware.estimate = estimate;
    rig.world.attach(seconds(1));
    rig.run();
    const auto observations = rig.recorder.of(NoteType::observation);
    const auto cut = std::find_if(observations.begin(), observations.end(), [](const auto& note) {
      return note.observation->outcome == Outcome::over_limit;
    });
    ASSERT_NE(cut, observations.end());
    EXPECT_EQ(cut->observation->power_is_estimate, estimate);
    EXPECT_EQ(rig.world.published.power_is_estimate, estimate);
  }
}

}  // namespace
}  // namespace gearshift
