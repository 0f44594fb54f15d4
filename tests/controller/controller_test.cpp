#include "controller/controller.h"

#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Measures the modes in order, then holds the last that was within the goal; nil if none was.
ListPolicy::Decide try_all(const std::vector<PowerMode>& modes) {
  return [modes](const PolicyContext& context, const std::vector<Observation>& answers) -> Request {
    if (answers.size() < modes.size()) return measure(modes[answers.size()]);
    for (auto it = answers.rbegin(); it != answers.rend(); ++it) {
      if (it->within(context.goal.power_mw.value_or(0))) {
        Request request;
        request.what = Request::What::hold;
        request.setting = it->setting;
        return request;
      }
    }
    return {};
  };
}

TEST(Controller, MeasuresWhatThePolicyAsksAndHoldsItsChoice) {
  Rig rig(try_all({kSlow, kMiddle, kFast}), seconds(60), 30000);
  rig.world.attach(seconds(3));
  rig.run();

  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 3U);
  EXPECT_TRUE(observations[2].observation->ok());
  EXPECT_EQ(observations[2].observation->power_mean_mw, 22000);
  EXPECT_EQ(observations[2].observation->cost[0].minibatch_mean, milliseconds(40));
  ASSERT_EQ(rig.summary.choices.size(), 1U);
  EXPECT_EQ(rig.summary.choices[0].setting.mode, kFast);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.summary.measurements, 3U);
  EXPECT_EQ(rig.over_cap_s, 0);
}

TEST(Controller, KeepsTheNewestChoicesOfACapThatNeverRests) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kMiddle); },
          seconds(4000), 30000);
  rig.world.attach(seconds(1));
  constexpr int kCaps = static_cast<int>(Summary::kMostChoices) + 20;
  for (int i = 0; i < kCaps; ++i) rig.world.cap(seconds(10 + 10 * i), 31000 + 1000 * i);
  rig.run();
  ASSERT_EQ(rig.summary.choices.size(), Summary::kMostChoices);
  EXPECT_EQ(rig.summary.choices.back().cap_mw, 31000 + 1000 * (kCaps - 1));
  EXPECT_EQ(rig.summary.choices.front().cap_mw, 31000 + 1000 * 20);
}

TEST(Controller, DoesNotAskAgainForABatchSizeThatWasRefused) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(kFast, 32) : Request{};
  });
  rig.world.refuse_commands = true;
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.world.commands.size(), 2U);
  EXPECT_EQ(rig.world.commands[0].batch_size, 32);
  EXPECT_EQ(rig.world.commands[1].batch_size, 16) << "the safe mode runs with the one in force";
}

TEST(Controller, ReadsTheIdleBaseloadBeforeTheFirstWorkload) {
  Rig rig(try_all({kSlow}));
  rig.world.attach(seconds(3));
  rig.run();
  ASSERT_TRUE(rig.summary.baseload_mw);
  EXPECT_EQ(*rig.summary.baseload_mw, 5000);
}

TEST(Controller, ReadsTheIdleBaseloadWhereNoWorkloadEverComes) {
  Rig rig(try_all({kSlow}));
  rig.run();
  ASSERT_TRUE(rig.summary.baseload_mw);
  EXPECT_EQ(*rig.summary.baseload_mw, 5000);
}

TEST(Controller, HasNoBaseloadWhereAWorkloadRanFromTheStart) {
  Rig rig(try_all({kSlow}));
  rig.world.attach(seconds(0));
  rig.run();
  EXPECT_FALSE(rig.summary.baseload_mw);
}

TEST(Controller, HandsThePidOfAManagedWorkloadToTheBoard) {
  Rig rig(try_all({kSlow}));
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.hardware.managed_pids, (std::vector<std::int32_t>{4242}));
}

TEST(Controller, TellsTheBoardThatAManagedWorkloadSaidBye) {
  Rig rig(try_all({kSlow}));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(5), 9);  // one that is observed only
  rig.world.detach(seconds(9));
  rig.run();
  EXPECT_EQ(rig.hardware.managed_pids, (std::vector<std::int32_t>{4242, 0}));
}

TEST(Controller, HoldsAWorkloadThatFellSilent) {
  Rig rig(try_all({kSlow}));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(9), 1, "silent for 5 s");
  rig.run();
  EXPECT_EQ(rig.hardware.managed_pids, (std::vector<std::int32_t>{4242}));
}

TEST(Controller, AnswersAKnownSettingFromMemoryWhenThePolicyStartsAgain) {
  Rig rig(try_all({kSlow, kMiddle, kFast}), seconds(60), 30000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(40), 40000);
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.summary.measurements, 3U);
  ASSERT_EQ(rig.policy.answers.size(), 3U);
  EXPECT_TRUE(rig.policy.answers[0].from_memory);
}

TEST(Controller, RemeasureLooksAgain) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
    if (answers.size() < 2) return request(Request::What::remeasure, kSlow);
    return hold(kSlow);
  });
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.summary.measurements, 2U);
}

TEST(Controller, MeasuresASettingThatIsHeldUnmeasured) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kMiddle); });
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.summary.choices.size(), 1U);
  ASSERT_TRUE(rig.summary.choices[0].observation);
  EXPECT_EQ(rig.summary.choices[0].observation->power_mean_mw, 17000);
  EXPECT_EQ(rig.policy.starts, 1);
}

TEST(Controller, ChangesTheBatchSizeAndCountsOnlyMinibatchesOfThatSize) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
    if (answers.empty()) return measure(kFast, 32);
    return hold(kFast, 32);
  });
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.world.commands.size(), 1U);
  EXPECT_EQ(rig.world.commands[0].batch_size, 32);
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_TRUE(rig.policy.answers[0].ok());
  // (4 + 32) / 20 of 40 ms.
  EXPECT_EQ(rig.policy.answers[0].cost[0].minibatch_mean, milliseconds(72));
}

TEST(Controller, ABatchSizeTheWorkloadDoesNotAllowIsRefusedWithoutAskingIt) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
    if (answers.empty()) return measure(kFast, 17);
    return {};
  });
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_TRUE(rig.world.commands.empty());
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::refused);
}

TEST(Controller, AWorkloadThatRefusesOrStaysSilentIsAnAnswerToo) {
  for (const bool silent : {false, true}) {
    Rig rig(
        [](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
          if (answers.empty()) return measure(kFast, 32);
          return {};
        },
        seconds(90));
    rig.world.silent = silent;
    rig.world.refuse_commands = true;
    rig.world.attach(seconds(1));
    rig.run();
    ASSERT_EQ(rig.policy.answers.size(), 1U);
    const auto observations = rig.recorder.of(NoteType::observation);
    ASSERT_FALSE(observations.empty());
    EXPECT_EQ(observations[0].observation->outcome, silent ? Outcome::timed_out : Outcome::refused);
  }
}

TEST(Controller, AStalledWorkloadEndsTheMeasurement) {
  Rig rig(try_all({kSlow}), seconds(200));
  rig.world.stalled = true;
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::stalled);
}

TEST(Controller, AKnobThatIgnoresWritesIsNotApplied) {
  Rig rig(try_all({kSlow, kFast}), seconds(60));
  rig.hardware.ignore = "gpu_mhz";
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::not_applied);
  EXPECT_TRUE(rig.policy.answers[1].ok());
  const auto failures = rig.recorder.of(NoteType::knob_failed);
  ASSERT_FALSE(failures.empty());
  EXPECT_EQ(failures[0].text, "gpu_mhz: wrote 300, still 900");
}

TEST(Controller, AKnobThatRefusesIsRefusedAndAHoldOfItEndsInTheSafeSetting) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kMiddle); });
  rig.hardware.refuse = "gpu_mhz";
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 3);
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
  EXPECT_TRUE(rig.summary.choices.empty());
}

TEST(Controller, NilHoldsTheSafeSetting) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return Request{}; });
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
}

TEST(Controller, AFailedPolicyIsReportedOnceAndTheSafeSettingHeld) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) -> Request {
    Request request;
    request.what = Request::What::failed;
    return request;
  });
  rig.world.attach(seconds(1));
  rig.run();
  const auto errors = rig.recorder.of(NoteType::policy_error);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].text, "script.lua:7: failed on purpose");
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
}

TEST(Controller, APolicyThatAsksMemoryForEverIsStopped) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return measure(kSlow); },
          seconds(20));
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.recorder.of(NoteType::policy_error).size(), 1U);
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
}

TEST(Controller, ASearchThatReachesItsLimitHoldsTheBestItHasMeasured) {
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        const PowerMode modes[] = {kSlow, kFast, kMiddle};
        return request(Request::What::remeasure, modes[answers.size() % 3]);
      },
      seconds(120), 20000);  // kFast draws 22 W
  rig.options.most_measurements = 4;
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.summary.measurements, 4U);
  EXPECT_EQ(rig.recorder.of(NoteType::policy_error).size(), 0U);
  const auto ended = rig.recorder.of(NoteType::search_ended);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_NE(ended[0].text.find("4 measurements"), std::string::npos);
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kMiddle);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Controller, ASearchThatReachesItsLimitWithNothingWithinHoldsTheSafeSetting) {
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        return measure(answers.size() % 2 == 0 ? kFast : kMiddle);
      },
      seconds(120), 12000);
  rig.options.most_measurements = 2;
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::search_ended).size(), 0U);
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
}

TEST(Controller, AnEditedScriptReplacesTheOldOne) {
  Rig rig(try_all({kSlow}), seconds(60));
  Event edited;
  edited.type = EventType::script_changed;
  rig.world.script_text = "better";
  rig.world.attach(seconds(1));
  rig.world.at(seconds(20), edited);
  rig.run();
  EXPECT_EQ(rig.policy.replaces, 1);
  EXPECT_EQ(rig.recorder.of(NoteType::policy_reload)[0].text, "reloaded");
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Controller, ABrokenEditKeepsTheOldScriptAndItsChoice) {
  Rig rig(try_all({kMiddle}), seconds(60));
  Event edited;
  edited.type = EventType::script_changed;
  rig.world.script_text = "broken";
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), edited);
  rig.run();
  const auto reloads = rig.recorder.of(NoteType::policy_reload);
  ASSERT_EQ(reloads.size(), 1U);
  EXPECT_EQ(reloads[0].text, "kept the old script: script.lua:1: broken");
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

TEST(Controller, IdlesInTheSafeModeWhenTheWorkloadLeavesAndRemembersItWhenItIsBack) {
  Rig rig(try_all({kSlow, kFast}), seconds(60));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(20));
  rig.world.attach(seconds(30), trainer(2));
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.summary.measurements, 2U);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}));
}

TEST(Controller, AnotherWorkloadStartsWithAnEmptyMemory) {
  Rig rig(try_all({kSlow, kFast}), seconds(60));
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(20));
  rig.world.attach(seconds(30), trainer(2, "mobilenet_v3"));
  rig.run();
  EXPECT_EQ(rig.summary.measurements, 4U);
}

TEST(Controller, AWorkloadThatLeavesInMidMeasurementLeavesNothingInMemory) {
  Rig rig(try_all({kSlow}), seconds(60));
  rig.world.attach(seconds(1));
  rig.world.detach(milliseconds(1500));
  rig.run();
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 1U);
  EXPECT_EQ(observations[0].observation->outcome, Outcome::workload_changed);
  EXPECT_EQ(rig.summary.measurements, 0U);
}

TEST(Controller, ASecondTrainerIsObservedOnly) {
  Rig rig(try_all({kSlow}), seconds(60));
  Workload second = trainer(2, "lstm");
  second.managed = false;
  rig.world.attach(seconds(1));
  Event event;
  event.type = EventType::attached;
  event.handle = 2;
  event.workload = second;
  rig.world.at(seconds(10), event);
  rig.run();
  EXPECT_EQ(rig.policy.starts, 1);
  EXPECT_EQ(rig.world.published.workloads, 2U);
}

TEST(Controller, StopsAfterTheGivenDuration) {
  Rig rig(try_all({kSlow}), seconds(60));
  rig.options.duration = seconds(5);
  rig.run();
  EXPECT_EQ(rig.summary.duration, seconds(5));
}

}  // namespace
}  // namespace gearshift
