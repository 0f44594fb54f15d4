// Another program that moves the knobs: told, undone, and not held against the setting.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Measures the middle mode, and holds it where it fits.
Request middle(const PolicyContext& context, const std::vector<Observation>& answers) {
  if (answers.empty()) return measure(kMiddle);
  return answers[0].within(context.goal.power_mw.value_or(0)) ? hold(kMiddle) : Request{};
}

struct WrittenRig : Rig {
  explicit WrittenRig(std::int64_t cap_mw, ListPolicy::Decide decide = middle)
      : Rig(std::move(decide), seconds(90), cap_mw) {
    hardware.values = {1, 300000};
    world.attach(seconds(1));
  }
  void write_at(Duration time) {
    world.at(time, [this] { hardware.values = {4, 900000}; });
  }
};

TEST(OutsideWriter, ThatComesBackLaterIsReportedAgain) {
  WrittenRig rig(30'000);
  for (const int second : {30, 35, 44, 54, 65}) rig.write_at(seconds(second));
  rig.run();
  std::vector<Time> told;
  for (const KeptNote& note : rig.recorder.of(NoteType::outside_writer)) told.push_back(note.time);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.front(), Time{} + seconds(30));
  const auto told_at = [&](int second) {
    return std::count(told.begin(), told.end(), Time{} + seconds(second));
  };
  EXPECT_EQ(told_at(35), 0);
  EXPECT_EQ(told_at(44), 0) << "nine seconds after the newest";
  EXPECT_EQ(told_at(54), 1);
  EXPECT_EQ(told_at(65), 1);
}

TEST(OutsideWriter, ThatDrivesPowerOverTheCapIsNotHeldAgainstTheSetting) {
  WrittenRig rig(20'000);
  for (int i = 0; i < 20; ++i) rig.write_at(seconds(30) + milliseconds(100 * i));
  rig.run();
  EXPECT_FALSE(rig.recorder.of(NoteType::over_cap).empty()) << "the guard acts all the same";
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

// As when a helper is killed, whose guardian puts the knobs back before the next one comes.
TEST(OutsideWriter, ThatDrivesPowerOverTheCapIsNotHeldAgainstAChoiceThatWasNotMeasured) {
  WrittenRig rig(20'000, [](const PolicyContext&, const auto&) { return hold(kMiddle); });
  // From the first power on, before it is measured: what is only foreseen counts the second time.
  for (int i = 0; i < 50; ++i) rig.write_at(seconds(1) + milliseconds(100 * i));
  rig.run();
  EXPECT_FALSE(rig.recorder.of(NoteType::over_cap).empty()) << "the guard acts all the same";
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{3, 600000}));
}

// As when a helper is killed, and another one is started some time later.
struct AwayRig : WrittenRig {
  AwayRig(Duration from, Duration to, const std::vector<std::int64_t>& meanwhile,
          ListPolicy::Decide decide = middle)
      : WrittenRig(20'000, std::move(decide)) {
    world.at(from, [this, meanwhile] {
      hardware.away = true;
      hardware.values = meanwhile;
    });
    world.at(to, [this] { hardware.away = false; });
  }
  std::size_t failures() { return recorder.of(NoteType::knob_failed).size(); }
};

const std::vector<std::int64_t> kMiddleValues{3, 600000};

TEST(NobodySetsKnobs, AChoiceWaitsForWhoeverComesBack) {
  // From before the first choice on, for longer than a mode may take and a workload may wait.
  AwayRig rig(milliseconds(500), seconds(40), {1, 300000},
              [](const PolicyContext&, const auto&) { return hold(kMiddle); });
  Phase meanwhile{};
  rig.world.at(seconds(39), [&] { meanwhile = rig.world.published.phase; });
  rig.run();
  EXPECT_EQ(meanwhile, Phase::applying);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.values, kMiddleValues);
  EXPECT_EQ(rig.failures(), 0U) << "nobody refused anything";
  EXPECT_TRUE(rig.recorder.of(NoteType::outside_writer).empty());
}

TEST(NobodySetsKnobs, WhatIsMeasuredIsNotRememberedAsRefused) {
  AwayRig rig(milliseconds(500), seconds(20), {1, 300000});
  rig.run();
  ASSERT_EQ(rig.summary.measurements, 1U);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.hardware.values, kMiddleValues);
  const auto measured = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_LT(measured[0].observation->duration, seconds(10)) << "the wait is none of its cost";
}

TEST(NobodySetsKnobs, PowerOverTheCapMeanwhileIsHeldAgainstNoSetting) {
  for (const bool measured : {false, true}) {
    AwayRig rig(
        measured ? seconds(30) : Duration(milliseconds(1500)), seconds(40), {4, 900000},
        measured ? ListPolicy::Decide(middle)
                 : [](const PolicyContext&, const auto&) { return hold(kMiddle); });
    std::size_t steps = 0;
    rig.world.at(seconds(39), [&] { steps = rig.recorder.of(NoteType::over_cap).size(); });
    rig.run();
    EXPECT_GE(steps, 1U) << "it is told";
    EXPECT_LE(steps, 3U) << "and not again and again";
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_EQ(rig.hardware.values, kMiddleValues);
    EXPECT_FALSE(rig.recorder.of(NoteType::outside_writer).empty());
    for (const KeptNote& note : rig.recorder.of(NoteType::safe)) {
      EXPECT_EQ(note.text.find("known"), std::string::npos) << note.text;
    }
  }
}

// What the world was when somebody looked.
struct Look {
  Phase phase{};
  std::int64_t power_mw = 0;
};

// Found in the tick of the first reading that shows it: whose clocks drew that, nobody knows.
TEST(NobodySetsKnobs, WhatIsMeasuredThenIsMeasuredAgainAndNotAnswered) {
  AwayRig rig(milliseconds(2500), seconds(5), {4, 900000});
  rig.world.at(milliseconds(2500), [&rig] { rig.hardware.extra_mw = 60'000; });
  rig.world.at(seconds(4), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(NobodySetsKnobs, PowerThatStaysOverTheCapIsSteppedDownFromOnce) {
  AwayRig rig(seconds(30), seconds(50), {4, 900000});
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = 30'000; });  // more than the cap, idle
  rig.world.at(seconds(50), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.summary.guard_steps, 1U);
  EXPECT_EQ(rig.recorder.of(NoteType::over_cap).size(), 2U) << "and that the workloads wait";
  EXPECT_EQ(rig.hardware.values, kMiddleValues);
}

TEST(NobodySetsKnobs, PowerOverTheCapMeanwhileMakesTheWorkloadWait) {
  for (const Duration from : {Duration(milliseconds(1500)), Duration(seconds(30))}) {
    AwayRig rig(from, seconds(40), {4, 900000});  // 22 W under a cap of 20 W
    std::vector<Look> looks;
    for (const Duration at : {from + seconds(2), Duration(seconds(39)), Duration(seconds(45))}) {
      rig.world.at(at, [&] {
        looks.push_back({rig.world.published.phase, rig.world.published.power_mw});
      });
    }
    rig.run();
    ASSERT_EQ(looks.size(), 3U);
    for (const std::size_t i : {0U, 1U}) {
      EXPECT_EQ(looks[i].phase, Phase::paused);
      EXPECT_EQ(looks[i].power_mw, 5000) << "idle";
    }
    EXPECT_GT(looks[2].power_mw, 5000) << "it works again";
    ASSERT_GE(rig.world.commands.size(), 2U);
    EXPECT_EQ(rig.world.commands.front().run, Run::infer);
    EXPECT_TRUE(runs(rig.world.commands.back().run, Kind::train));
    EXPECT_EQ(rig.world.published.phase, Phase::holding);
    EXPECT_EQ(rig.hardware.values, kMiddleValues);
    EXPECT_LT(rig.over_cap_s, 1.5);
  }
}

TEST(NobodySetsKnobs, WithinTheCapTheWorkloadGoesOn) {
  AwayRig rig(seconds(30), seconds(40), {1, 300000});
  rig.run();
  for (const WorkloadCommand& command : rig.world.commands)
    EXPECT_TRUE(runs(command.run, Kind::train));
  EXPECT_EQ(rig.hardware.values, kMiddleValues);
}

TEST(NobodySetsKnobs, AWorkloadThatComesMeanwhileWaitsToo) {
  AwayRig rig(seconds(30), seconds(60), {4, 900000});
  rig.world.detach(seconds(35));
  rig.world.attach(seconds(40), trainer(2));
  std::vector<Look> looks;
  for (const int second : {45, 59}) {
    rig.world.at(seconds(second), [&] {
      looks.push_back({rig.world.published.phase, rig.world.published.power_mw});
    });
  }
  rig.run();
  ASSERT_EQ(looks.size(), 2U);
  for (const Look& look : looks) {
    EXPECT_EQ(look.phase, Phase::paused);
    EXPECT_EQ(look.power_mw, 5000);
  }
  ASSERT_FALSE(rig.world.commands.empty());
  EXPECT_TRUE(runs(rig.world.commands.back().run, Kind::train));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(NobodySetsKnobs, WhileNobodyKnowsPowerEitherTheWorkloadWaits) {
  AwayRig rig(seconds(30), seconds(60), {4, 900000});
  rig.hardware.extra_mw = -3000;  // not over the cap
  rig.world.at(seconds(35), [&] { rig.hardware.reading_state = ReadingState::missing; });
  rig.world.at(seconds(50), [&] { rig.hardware.reading_state = ReadingState::ok; });
  Phase before{};
  Phase unknown{};
  rig.world.at(seconds(34), [&] { before = rig.world.published.phase; });
  rig.world.at(seconds(49), [&] { unknown = rig.world.published.phase; });
  rig.run();
  EXPECT_NE(before, Phase::paused);
  EXPECT_EQ(unknown, Phase::paused);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  ASSERT_FALSE(rig.world.commands.empty());
  EXPECT_TRUE(runs(rig.world.commands.back().run, Kind::train));
}

TEST(OutsideWriter, WhatItDrawsIsNotTakenFromTheSearchsShare) {
  WrittenRig rig(20'000);
  rig.world.at(seconds(30), [&rig] {
    rig.hardware.values = {4, 900000};
    rig.hardware.extra_mw = 60'000;
  });
  rig.world.at(seconds(31), [&rig] { rig.hardware.extra_mw = 0; });
  rig.run();
  const auto notes = rig.recorder.of(NoteType::over_cap);
  ASSERT_FALSE(notes.empty());
  for (const KeptNote& note : notes) EXPECT_EQ(note.text.find("waits"), std::string::npos);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

// One that goes on would have what is over the cap measured again and again.
TEST(OutsideWriter, ThatGoesOnExcusesAMeasurementOnce) {
  WrittenRig rig(20'000, [](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.size() < 8 ? measure(kFast) : Request{};
  });
  for (int second = 1; second < 90; ++second) {
    rig.world.at(milliseconds(400 + 1000 * second), [&] { rig.hardware.values[0] = 2; });
  }
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::over_cap).size(), 2U);
  ASSERT_EQ(rig.policy.answers.size(), 8U);
  EXPECT_TRUE(rig.policy.answers.back().from_memory);
}

}  // namespace
}  // namespace gearshift
