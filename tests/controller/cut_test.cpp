// Measurements that end before their answer is known: what they tell all the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Measures two settings; then nothing is chosen.
Request two(const PolicyContext&, const std::vector<Observation>& answers) {
  if (answers.size() == 2) return {Request::What::hold_safe, {}};
  Request request = measure(answers.empty() ? kSlow : kFast);
  request.setting.batch_size[index(Kind::infer)] = 4;
  request.setting.batch_size[index(Kind::train)] = answers.empty() ? 16 : 32;
  return request;
}

struct CutRig : Rig {
  CutRig() : Rig(two, seconds(60), std::nullopt, {kSlow, kMiddle, kFast}) {
    options.goal.objective = Objective::throughput;
    options.meter.power_least = milliseconds(500);
    world.attach(milliseconds(0));
    server = &world.attach_server(milliseconds(0), 40);
  }
  FakeServer* server;
};

TEST(Cut, ASettingThatAnswersLateTellsTheTimesOfItsMinibatches) {
  CutRig rig;
  for (int ms = 200; ms < 60'000; ms += 100) {
    rig.world.at(milliseconds(ms),
                 [&rig] { rig.server->late_ms = rig.hardware.values[1] == 900000 ? 400 : 0; });
  }
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  const Observation& late = rig.policy.answers[1];
  ASSERT_EQ(late.outcome, Outcome::late);
  ASSERT_GT(late.cost[index(Kind::train)].minibatches, 0U);
  EXPECT_EQ(late.cost[index(Kind::train)].minibatch_mean, milliseconds(72));
  EXPECT_EQ(late.power_mean_mw, 0) << "which had not settled";
}

TEST(Cut, OneThatIsNotYetInForceTellsNothingOfTheSettingBefore) {
  CutRig rig;
  rig.world.answers_after = seconds(25);  // the trainer's, to each change
  int since = 0;                          // tenths of a second with the second one's clocks
  for (int ms = 200; ms < 80'000; ms += 100) {
    rig.world.at(milliseconds(ms), [&rig, &since] {
      if (rig.hardware.values[1] == 900000) ++since;
      rig.server->late_ms = since > 150 && since < 180 ? 400 : 0;
    });
  }
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  ASSERT_TRUE(rig.policy.answers[0].ok());
  ASSERT_EQ(rig.policy.answers[1].outcome, Outcome::late);
  for (const Cost& cost : rig.policy.answers[1].cost) EXPECT_EQ(cost.minibatches, 0U);
}

// Large batches draw less: 13.8 W with 32 in the middle mode, 16.2 W with 8, which is over the cap.
// What is stepped down to fits, and the small batches that were prefetched run on meanwhile.
struct PrefetchedRig : Rig {
  explicit PrefetchedRig(const PowerMode& second = kFast)
      : Rig(
            [second](const PolicyContext&, const std::vector<Observation>& answers) {
              if (answers.size() >= 2) return hold(kMiddle, 32);
              return answers.empty() ? measure(kMiddle, 32) : measure(second, 8);
            },
            seconds(120), 15000, {kSlow, kMiddle, kFast}) {
    hardware.sample_mw = -100;
    world.answers_after = seconds(2);
    Workload trained = trainer();
    trained.batch_size = hardware.batch_size = 32;
    world.attach(milliseconds(0), trained);
  }
};

TEST(Cut, BatchesOfTheSettingBeforeAreNotHeldAgainstWhatIsSteppedDownTo) {
  PrefetchedRig rig;
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  EXPECT_TRUE(rig.policy.answers[0].ok());
  EXPECT_EQ(rig.policy.answers[1].outcome, Outcome::over_limit);
  EXPECT_GE(rig.summary.guard_steps, 3U) << "or what was stepped down to was never in question";
  EXPECT_LE(rig.summary.guard_steps, 3U) << "it is tried again once they have run out";
  ASSERT_EQ(rig.recorder.of(NoteType::hold).size(), 1U);
  EXPECT_EQ(rig.recorder.of(NoteType::hold)[0].setting.batch_size[index(Kind::train)], 32);
  EXPECT_TRUE(rig.recorder.of(NoteType::safe).empty());
}

// The same clocks with another batch size are no step down before the workload has followed.
TEST(Cut, PrefetchedBatchesThatAreOverRunInTheSafeMode) {
  PrefetchedRig rig(kMiddle);
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  ASSERT_EQ(rig.policy.answers[1].outcome, Outcome::over_limit);
  const Time cut = rig.time_of(NoteType::over_cap, 1);  // the first is of the board as it was found
  const auto settings = rig.recorder.of(NoteType::setting);
  const auto next = std::find_if(settings.begin(), settings.end(),
                                 [cut](const auto& note) { return note.time >= cut; });
  ASSERT_NE(next, settings.end());
  EXPECT_EQ(next->setting.mode, kSlow);
  EXPECT_EQ(next->setting.batch_size[index(Kind::train)], 32)
      << "of what fits, so that they run out";
  EXPECT_EQ(rig.recorder.of(NoteType::hold).at(0).setting, (Setting{kMiddle, {32, 0}, Run::train}));
}

// Each time it is to be held, batches of 8 run that draw more in its mode. Blamed on them for ever,
// it would be tried again for ever: once it is cut, then it waits for them.
TEST(Cut, ASettingThatOtherBatchesTakeOverTheCapWaitsForThemTheNextTime) {
  Rig rig(
      [](const PolicyContext& context, const std::vector<Observation>& answers) {
        const std::size_t known = context.observations.empty() ? 0 : 1;
        if (answers.size() + known == 0) return measure(kMiddle, 32);
        if (answers.size() + known == 1) return request(Request::What::remeasure, kSlow, 8);
        return hold(kMiddle, 32);
      },
      seconds(300), 15000, {kSlow, kMiddle, kFast});
  rig.hardware.sample_mw = -100;
  rig.world.answers_after = seconds(2);
  Workload trained = trainer();
  trained.batch_size = rig.hardware.batch_size = 32;
  rig.hardware.values = {1, 300000};
  rig.world.attach(milliseconds(0), trained);
  rig.run();
  EXPECT_EQ(rig.summary.guard_steps, 1U);
  const auto holds = rig.recorder.of(NoteType::hold);
  ASSERT_FALSE(holds.empty());
  EXPECT_EQ(holds.back().setting, (Setting{kMiddle, {32, 0}, Run::train}));
  EXPECT_EQ(rig.hardware.batch_size, 32);
  EXPECT_LT(holds.back().time, Time{} + seconds(60));
}

TEST(Cut, ASettingThatNobodyFollowsIsBlamedInTheEnd) {
  PrefetchedRig rig;
  rig.world.at(milliseconds(4'300), [&rig] { rig.world.silent = true; });
  rig.run();
  EXPECT_FALSE(rig.recorder.of(NoteType::safe).empty());
  EXPECT_EQ(rig.hardware.values[1], 300000) << "the safe mode";
  EXPECT_LE(rig.summary.guard_steps, 6U);
}

// Measures three settings, and holds the fastest that is not known to be over the cap. Power is
// 5 W more for 0.6 s, so long after that one was first held, and as long after it was held again.
struct AfterSpikes {
  std::vector<KeptNote> holds;
  std::size_t observations;
  std::uint32_t guard_steps;
};
AfterSpikes after_spikes(Duration first, Duration second) {
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        static const PowerMode kModes[] = {kSlow, kMiddle, kFast};
        if (answers.size() < std::size(kModes)) return measure(kModes[answers.size()]);
        Request request{Request::What::hold, {}};
        for (const Observation& answer : answers) {
          if (answer.ok()) request.setting = answer.setting;
        }
        return request;
      },
      seconds(200), 25500);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  constexpr int kHeldSince = 8;  // s, when the search has ended
  const auto spike = [&rig](Duration at) {
    rig.world.at(at, [&rig] { rig.hardware.extra_mw = 5000; });
    rig.world.at(at + milliseconds(600), [&rig] { rig.hardware.extra_mw = 0; });
  };
  spike(seconds(kHeldSince) + first);
  spike(seconds(kHeldSince) + first + seconds(5) + second);
  rig.run();
  std::vector<KeptNote> holds = rig.recorder.of(NoteType::hold);
  EXPECT_LT(holds.at(0).time, Time{} + seconds(kHeldSince));
  EXPECT_GT(holds.at(0).time, Time{} + seconds(kHeldSince - 2));
  return {holds, rig.recorder.of(NoteType::observation).size(), rig.summary.guard_steps};
}

TEST(Cut, WhatWasWithinTheCapForLongIsHeldAgain) {
  const auto [holds, observations, guard_steps] = after_spikes(seconds(32), seconds(32));
  EXPECT_EQ(guard_steps, 2U) << "each time it is stepped down from";
  EXPECT_EQ(observations, 3U) << "what is known of it stays";
  ASSERT_EQ(holds.size(), 3U);
  for (const KeptNote& hold : holds) EXPECT_EQ(hold.setting.mode, kFast);
}

TEST(Cut, WhatIsCutSoonAfterItsChoiceIsNot) {
  const AfterSpikes soon = after_spikes(seconds(25), seconds(32));
  EXPECT_EQ(soon.observations, 4U);
  EXPECT_EQ(soon.holds.at(0).setting.mode, kFast);
  EXPECT_EQ(soon.holds.at(1).setting.mode, kMiddle);
  const AfterSpikes again = after_spikes(seconds(32), seconds(20));
  EXPECT_EQ(again.observations, 4U);
  ASSERT_EQ(again.holds.size(), 3U);
  EXPECT_EQ(again.holds[1].setting.mode, kFast);
  EXPECT_EQ(again.holds[2].setting.mode, kMiddle);
}

TEST(Cut, WhatWasWithinAHigherCapForLongIsNotForgivenUnderALowerOne) {
  for (const std::int64_t cap_mw : {25'500, 25'000}) {
    Rig rig([](const PolicyContext&,
               const auto& answers) { return answers.empty() ? measure(kFast) : hold(kFast); },
            seconds(60), 25'500);
    rig.hardware.values = {1, 300000};
    rig.world.attach(seconds(1));
    rig.world.cap(seconds(39), cap_mw);
    rig.world.at(seconds(42), [&rig] { rig.hardware.extra_mw = 5000; });
    rig.world.at(milliseconds(42'600), [&rig] { rig.hardware.extra_mw = 0; });
    rig.run();
    const auto seen = rig.recorder.of(NoteType::observation);
    const auto cut = std::count_if(seen.begin(), seen.end(), [](const KeptNote& note) {
      return note.observation->outcome == Outcome::over_limit && !note.observation->from_memory;
    });
    EXPECT_EQ(rig.summary.guard_steps, 1U);
    EXPECT_EQ(cut, cap_mw == 25'500 ? 0 : 1) << cap_mw;
  }
}

// Measures two settings, of which the second is over the cap, and holds the first. What the sensor
// shows is 20 W more for 0.1 s, so long after that is held; zero: never.
AfterSpikes after_a_late_reading(Duration at) {
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        if (answers.size() < 2) return measure(answers.empty() ? kMiddle : kFast);
        return Request{Request::What::hold, answers[0].setting};
      },
      seconds(30), 20'000);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  if (at > Duration{}) {
    rig.world.at(at, [&rig] { rig.hardware.extra_mw = 20'000; });
    rig.world.at(at + milliseconds(100), [&rig] { rig.hardware.extra_mw = 0; });
  }
  rig.run();
  return {rig.recorder.of(NoteType::hold), rig.recorder.of(NoteType::observation).size(),
          rig.summary.guard_steps};
}

// A hold of what is in force already changes nothing that would shorten the pause after the step.
TEST(Cut, WhatWasSteppedDownToIsNotBlamedForTheSettingBeforeOnceItIsChosen) {
  const AfterSpikes calm = after_a_late_reading({});
  ASSERT_EQ(calm.holds.size(), 1U);
  EXPECT_EQ(calm.holds[0].setting.mode, kMiddle);
  EXPECT_EQ(calm.guard_steps, 1U);
  const Duration held = calm.holds[0].time - Time{};
  const AfterSpikes late = after_a_late_reading(held + milliseconds(50));
  EXPECT_EQ(late.guard_steps, 1U);
  EXPECT_EQ(late.observations, 2U);
  EXPECT_EQ(after_a_late_reading(held + seconds(3)).guard_steps, 2U) << "the pause ends";
}

// A battery whose voltage sags where the board draws too much: the lowest mode is all that is left
// then, for 10 s, and after that 85 % of what it sagged at.
class SaggingLimit : public LimitSource {
 public:
  std::string_view name() const override { return "battery"; }
  void consume(const Event&) override {}
  void read(const Reading& reading) override {
    if (reading.quantity != Quantity::power || reading.value <= bears_mw) return;
    if (!sagged_ || reading.taken - *sagged_ > seconds(1)) ++sags;
    sagged_ = reading.taken;
    ceiling_mw_ = reading.value * 85 / 100;
  }
  Limit limit(Time now) override {
    if (!sagged_) return {.moves = true};
    const bool rests = now - *sagged_ < seconds(10);
    return {.power_mw = rests ? kLowestModeMw : ceiling_mw_, .moves = true};
  }

  std::int64_t bears_mw = 20'000;
  int sags = 0;

 private:
  std::optional<Time> sagged_;
  std::int64_t ceiling_mw_ = 0;
};

// The policy asks for nothing else, measured or not.
TEST(Cut, WhatASagOfTheVoltageEndedIsNotTriedAgainUnderTheCeilingThatItLeft) {
  for (const bool measures : {true, false}) {
    Rig rig(
        [measures](const PolicyContext&, const auto& answers) {
          return measures && answers.empty() ? measure(kFast) : hold(kFast);
        },
        seconds(300));
    rig.hardware.values = {1, 300000};
    rig.world.attach(seconds(1));
    SaggingLimit battery;
    LimitSource* limits[] = {&battery};
    Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
    EXPECT_GE(battery.sags, 1);
    EXPECT_LE(battery.sags, 2) << measures;
    const auto seen = rig.recorder.of(NoteType::observation);
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back().observation->outcome, Outcome::over_limit);
    EXPECT_GT(seen.back().observation->power_mean_mw, 20'000);
    EXPECT_EQ(rig.world.published.setting.mode, kSlow);
  }
}

// It is what was in force before that the reading shows.
TEST(Cut, ASagThatMayBeOfTheSettingBeforeIsNotHeldAgainstTheNewOne) {
  Rig rig([](const PolicyContext&,
             const auto& answers) { return answers.empty() ? measure(kFast) : hold(kMiddle); },
          seconds(60));
  rig.hardware.extra_mw = -3'000;  // 19 and 14 W
  rig.hardware.lag_s = 1;
  rig.world.attach(seconds(1));
  SaggingLimit battery;
  for (Duration time = seconds(1); time < seconds(60); time += milliseconds(100)) {
    rig.world.at(time, [&] {
      const bool middle = rig.hardware.values[1] == 600000;
      battery.bears_mw = middle && battery.sags == 0 ? 15'000 : 20'000;
    });
  }
  LimitSource* limits[] = {&battery};
  Controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options).run();
  EXPECT_EQ(battery.sags, 1);
  EXPECT_EQ(rig.world.published.setting.mode, kMiddle);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

// The fast setting is cut after two readings of it, and the mean of a window with those before it
// is less than it draws: 13.07 W when the middle one is applied, and 13.75 W, of 16, 16, 10 and 13,
// one reading later.
TEST(Cut, WhatFitsIsNotBlamedForASettingThatWasSoonCut) {
  const PowerMode middle = mode(1, 600000);
  Rig rig(best_of({measure(mode(1, 900000)), measure(middle)}), seconds(60), 13'100);
  rig.hardware.values = {1, 300000};
  rig.hardware.extra_mw = 5'300;
  rig.world.at(seconds(1), [&rig] { rig.hardware.extra_mw = 300; });
  rig.world.at(milliseconds(1'100), [&rig] { rig.hardware.extra_mw = 0; });
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.summary.guard_steps, 2U) << "both are cut";
  EXPECT_EQ(rig.world.published.setting.mode, middle) << "and one is tried again";
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

}  // namespace
}  // namespace gearshift
