// The loop behind a sensor that shows a mean, in steps: what is over the cap is known before the
// mean is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "controller/controller.h"
#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kStepMw = 380;

Board board_behind_mean(Hardware& hardware) {
  hardware.averaging = milliseconds(430);
  hardware.step_mw = kStepMw;
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<FakeSensor>(hardware));
  BoardTraits traits = fake_traits();
  traits.power_window = hardware.averaging;
  traits.power_averaging = hardware.averaging;
  traits.power_rounding_mw = kStepMw / 2;
  return {std::make_unique<FakeActuator>(hardware), std::move(sensors), std::move(traits)};
}

struct MeanRig : Rig {
  MeanRig(ListPolicy::Decide decide, std::int64_t cap_mw)
      : Rig(std::move(decide), seconds(30), cap_mw) {
    hardware.values = {1, 300000};
    board = board_behind_mean(hardware);
    world.attach(seconds(1));
  }
};

// What draws a little too much, and what fits by little: kMiddle draws 17 W, kFast 22 W.
struct Close {
  std::vector<Observation> answers;
  std::optional<Duration> cut_after;
};

Close measure_fast(std::int64_t cap_mw, Duration writes_take = {}) {
  MeanRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        if (answers.empty()) return measure(kMiddle);
        if (answers.size() == 1) return measure(kFast);
        return hold(kMiddle);
      },
      cap_mw);
  rig.hardware.writes_take = writes_take;
  rig.run();
  Close close{.answers = rig.policy.answers, .cut_after = {}};
  if (!rig.recorder.of(NoteType::over_cap).empty()) {
    close.cut_after = rig.time_of(NoteType::over_cap) - rig.time_of(NoteType::setting, 1);
  }
  return close;
}

TEST(AveragedPower, WhatStepsHideOfASettingIsCutAsSoonAsWhatIsOverTheCap) {
  for (const std::int64_t over_mw : {3000, 200, 20, -100}) {
    const Close close = measure_fast(22000 - over_mw);
    ASSERT_EQ(close.answers.size(), 2U) << over_mw;
    EXPECT_EQ(close.answers[1].outcome, Outcome::over_limit) << over_mw;
    ASSERT_TRUE(close.cut_after) << over_mw;
    EXPECT_LE(*close.cut_after, milliseconds(300)) << over_mw << ": a core, and 0.2 s";
  }
  const Close fits = measure_fast(22000 + 900);
  ASSERT_EQ(fits.answers.size(), 2U);
  EXPECT_TRUE(fits.answers[1].ok());
  EXPECT_TRUE(fits.answers[1].within(22900));
  EXPECT_EQ(fits.cut_after, std::nullopt);
}

// A policy may think for a while, and the files of a board take their time: what the sensor shows
// of power that came so much later is not taken for less power.
TEST(AveragedPower, TimeThatWritesTakeIsNotTakenForPowerThatDoesNotCome) {
  for (const int ms : {10, 20, 40}) {
    for (const std::int64_t over_mw : {100, 200}) {
      const Close close = measure_fast(22000 - over_mw, milliseconds(ms));
      ASSERT_EQ(close.answers.size(), 2U) << ms;
      EXPECT_EQ(close.answers[1].outcome, Outcome::over_limit) << ms;
      ASSERT_TRUE(close.cut_after) << ms;
      EXPECT_LE(*close.cut_after, milliseconds(250)) << ms;
    }
    EXPECT_EQ(measure_fast(22000 + 400, milliseconds(ms)).cut_after, std::nullopt) << ms;
  }
}

// A board shows a moment after its cores which clocks they brought along.
TEST(AveragedPower, CoresComeAPeriodApartHoweverOftenPowerIsReadMeanwhile) {
  MeanRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        if (answers.empty()) return measure(kSlow);
        return answers.size() == 1 ? measure(kFast) : hold(kFast);
      },
      30000);
  rig.run();
  const KeepingRecorder& recorder = rig.recorder;
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  EXPECT_TRUE(rig.policy.answers[1].ok());
  std::optional<Time> asked;
  for (const KeptNote& note : recorder.of(NoteType::setting)) {
    if (!asked && note.setting.mode == kFast) asked = note.time;
  }
  ASSERT_TRUE(asked);
  std::optional<Time> applied;
  for (const KeptNote& note : recorder.of(NoteType::applied)) {
    if (!applied && note.setting.mode == kFast) applied = note.time;
  }
  ASSERT_TRUE(applied);
  EXPECT_EQ(*applied - *asked, milliseconds(200)) << "the first core at once, two more after it";
  const auto ticks = std::count_if(recorder.times.begin(), recorder.times.end(),
                                   [&](Time time) { return time > *asked && time <= *applied; });
  EXPECT_EQ(ticks, 8) << "every 25 ms";
}

// The knobs are in place at once, and the batch that is too much follows 0.7 s later: what it
// draws is not taken for another program's load.
TEST(AveragedPower, ABatchThatTakesForceLateIsKnownToBeOverTheCapFromThreeReadings) {
  MeanRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        if (answers.size() < 2) return measure(kMiddle, answers.empty() ? 16 : 32);
        return hold(kMiddle, 16);
      },
      25500);
  rig.hardware.sample_mw = 300;  // kMiddle draws 21.8 W with 16 samples, 26.6 W with 32
  rig.world.answers_after = milliseconds(700);
  rig.run();

  const auto& answers = rig.policy.answers;
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[0].power_margin_mw, kStepMw / 2);
  EXPECT_EQ(answers[1].outcome, Outcome::over_limit);
  const Duration known = rig.time_of(NoteType::over_cap) - rig.time_of(NoteType::setting, 1);
  EXPECT_LE(known, milliseconds(700 + 300));
}

// 22 W before, 23.2 W in one reading after: the window's mean is over a cap of 22.1 W. The reading
// is the first one, or one of the time in which the mode waits for a trainer to take its batch.
TEST(AveragedPower, AReadingOfTheSettingBeforeIsNotHeldAgainstTheOneThatComes) {
  for (const Duration taken_after : {milliseconds(0), milliseconds(900)}) {
    std::optional<Duration> changed;
    for (const bool spikes : {false, true}) {
      Rig rig(
          [](const PolicyContext&, const std::vector<Observation>& answers) {
            return answers.empty() ? measure(kFast, 16) : hold(kMiddle, 8);
          },
          seconds(30), 22100);
      rig.world.attach(seconds(1));
      rig.world.answers_after = taken_after;
      if (spikes) {
        const Duration later =
            std::max<Duration>(milliseconds(50), taken_after - milliseconds(250));
        rig.world.at(*changed + later, [&rig] { rig.hardware.extra_mw = 1200; });
        rig.world.at(*changed + later + milliseconds(100), [&rig] { rig.hardware.extra_mw = 0; });
      }
      rig.run();
      const auto settings = rig.recorder.of(NoteType::setting);
      ASSERT_GE(settings.size(), 2U);
      changed = settings[1].time - Time{};
      EXPECT_EQ(rig.recorder.of(NoteType::over_cap).size(), spikes ? 1U : 0U);
      EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}))
          << taken_after.count() << " ns";
    }
  }
}

// 17 W, and turns of a third of a second at 19.2 W. The choice is in force already and moves no
// knob: what a turn that begins then draws is not taken for power that is still on its way up.
TEST(AveragedPower, AChoiceThatIsInForceBringsNoOtherPowerAlong) {
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        Request request = answers.empty() ? measure(kMiddle) : hold(kMiddle, 16);
        request.setting.batch_size[index(Kind::infer)] = 4;
        return request;
      },
      seconds(30), 19700);
  rig.hardware.values = {1, 300000};
  rig.board = board_behind_mean(rig.hardware);
  rig.options.goal.objective = Objective::throughput;
  rig.world.attach(milliseconds(0));
  rig.world.attach_server(milliseconds(0), 40);
  for (int ms = 2000; ms < 30'000; ms += 2000) {
    rig.world.at(milliseconds(ms), [&rig] { rig.hardware.extra_mw = 2200; });
    rig.world.at(milliseconds(ms + 350), [&rig] { rig.hardware.extra_mw = 0; });
  }
  rig.run();
  ASSERT_EQ(rig.recorder.of(NoteType::hold).size(), 1U);
  EXPECT_EQ(rig.summary.guard_steps, 0U);
}

// 17 W, and readings that seem to be on their way to 24.5 W: for a script that has nothing else to
// hold, a guess alone does not end it.
TEST(AveragedPower, WhatWasForeseenAndNotReachedIsHeldAgainstAChoiceTheSecondTime) {
  std::vector<Duration> spikes;
  for (const std::size_t count : {0U, 1U, 2U}) {
    Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kMiddle, 16); },
            seconds(60), 22100);
    rig.world.attach(seconds(1));
    for (const Duration begin : spikes) {
      std::int64_t extra_mw = 0;
      for (int i = 0; i < 4; ++i) {
        extra_mw += std::llround(1500 * std::pow(0.8, i));
        rig.world.at(begin + i * milliseconds(100),
                     [&rig, extra_mw] { rig.hardware.extra_mw = extra_mw; });
      }
      rig.world.at(begin + milliseconds(400), [&rig] { rig.hardware.extra_mw = 0; });
    }
    rig.run();
    EXPECT_EQ(rig.summary.guard_steps, count);
    const PowerMode mode = count < 2 ? kMiddle : kSlow;
    EXPECT_EQ(rig.hardware.values[1], mode.values[1]) << count;
    std::vector<Time> held;
    for (const KeptNote& note : rig.recorder.of(NoteType::applied)) {
      if (note.setting.mode == kMiddle) held.push_back(note.time);
    }
    ASSERT_EQ(held.size(), std::min<std::size_t>(count + 1, 2));
    spikes.push_back(held.back() - Time{} + milliseconds(450));
  }
}

}  // namespace
}  // namespace gearshift
