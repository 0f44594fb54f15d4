// Requests are served alone, as well as the cap allows, where nothing that the policy found serves
// them; and who waits for them does not wait longer than they come.
#include "controller/relief.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "controller/controller.h"
#include "controller/rationale.h"
#include "tests/fakes/serving_rig.h"
#include "tests/fakes/told.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

Setting alone(std::int64_t cores) {
  Setting setting;
  setting.mode = mode(cores, 600000);
  setting.run = Run::infer;
  return setting;
}

// In force for long, with so many of 100 requests late.
void keep(Relief& relief, std::int64_t cores, std::uint32_t late) {
  relief.begin();
  relief.add(100, late);
  relief.keeps(alone(cores), static_cast<std::size_t>(cores));
}

TEST(Relief, PrefersWhatAnswersMostToWhatDrawsMost) {
  Relief relief;
  EXPECT_EQ(relief.best(0), nullptr);
  keep(relief, 1, 60);
  keep(relief, 2, 20);
  keep(relief, 3, 40);
  ASSERT_NE(relief.best(0), nullptr);
  EXPECT_EQ(*relief.best(0), alone(2));
  EXPECT_EQ(relief.best(0.8), nullptr) << "no more than 80 of 100";
  EXPECT_NE(relief.best(0.79), nullptr);
  relief.begin();
  relief.add(100, 0);
  EXPECT_TRUE(relief.update(alone(3)));
  EXPECT_FALSE(relief.update(alone(4)));
  EXPECT_EQ(*relief.best(0), alone(3));
}

TEST(Relief, TriesNothingBeyondWhatWasSoonOverTheCap) {
  Relief relief;
  for (const std::int64_t cores : {1, 2, 3}) keep(relief, cores, 10);
  relief.exceeds(3);
  EXPECT_EQ(relief.end(), 3U);
  relief.exceeds(4);
  EXPECT_EQ(relief.end(), 3U) << "the least of them";
  relief.exceeds(2);
  EXPECT_EQ(*relief.best(0), alone(1));
  EXPECT_TRUE(relief.forget(alone(1)));
  EXPECT_FALSE(relief.forget(alone(1)));
  EXPECT_EQ(relief.best(0), nullptr);
  EXPECT_EQ(relief.end(), 2U) << "one that has kept the cap for long says nothing of others";
  relief.forget_end();
  EXPECT_EQ(relief.end(), std::nullopt);
}

TEST(Relief, GoesBackToTheBestThatIsStillOffered) {
  Relief relief;
  keep(relief, 1, 20);
  keep(relief, 2, 10);
  relief.offer([](const Setting& setting) { return setting != alone(2); });
  ASSERT_NE(relief.best(0), nullptr);
  EXPECT_EQ(*relief.best(0), alone(1));
}

TEST(Relief, WhatAnsweredMostOfFewerRequestsMayNotAnswerMore) {
  Relief relief;
  keep(relief, 2, 0);
  relief.forget_shares();
  EXPECT_EQ(relief.best(0), nullptr);
  EXPECT_EQ(relief.share(), 0) << "of what is in force neither";
  relief.begin();
  relief.add(100, 10);
  EXPECT_TRUE(relief.update(alone(2))) << "it keeps the cap as before";
  EXPECT_EQ(*relief.best(0.8), alone(2));
}

TEST(Relief, KeepsFewSettingsAndThoseThatServe) {
  Relief relief;
  for (std::int64_t cores = 1; cores <= 20; ++cores) {
    keep(relief, cores, static_cast<std::uint32_t>(cores == 5 ? 1 : 50));
  }
  EXPECT_EQ(*relief.best(0), alone(5));
}

// By power, from 10 to 22 W.
std::vector<PowerMode> by_power() {
  return {mode(1, 300000), mode(2, 300000), mode(1, 600000), mode(3, 300000),
          mode(2, 600000), mode(4, 300000), mode(1, 900000), mode(3, 600000),
          mode(2, 900000), mode(4, 600000), mode(3, 900000), mode(4, 900000)};
}

// The policy finds nothing under 15.5 W, and nothing serves 400 requests a second: 266 at 600 MHz,
// 133 at 300. By power two cores at 600 MHz are the most that fit.
struct Overloaded : ServingRig {
  explicit Overloaded(Duration end)
      : ServingRig([](const PolicyContext&, const auto&) { return Request{}; }, end, 15'500,
                   by_power()),
        server(world.attach_server(milliseconds(0), 400)) {
    hardware.values = {1, 300000};
  }

  FakeServer& server;
};

TEST(ReliefLoop, FindsItsPlaceBelowTheCapAndStaysThere) {
  Overloaded rig(seconds(170));
  int starts = 0;
  rig.world.at(seconds(5), [&] { starts = rig.policy.starts; });
  rig.world.at(seconds(59), [&] { EXPECT_EQ(rig.policy.starts, starts) << "asked for a cut"; });
  rig.run();
  const std::vector<KeptNote> cuts = rig.recorder.of(NoteType::over_cap);
  ASSERT_GE(cuts.size(), 2U);
  EXPECT_LE(cuts.size(), 4U);
  for (const KeptNote& note : cuts) EXPECT_LT(note.time, Time{} + seconds(40));
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const Setting next = rig.settings_since(cuts[i].time - Time{}).front();
    EXPECT_NE(next.mode, kSlow) << "three cores at 300 MHz have shown that they keep the cap";
  }
  const Setting last = rig.recorder.of(NoteType::setting).back().setting;
  EXPECT_EQ(last.mode.values[1], 600000);
  EXPECT_EQ(last.run, Run::infer);
  EXPECT_EQ(last.batch_size[index(Kind::infer)], 16);
  for (const Setting& setting : rig.settings_since(seconds(60))) {
    EXPECT_EQ(setting.mode.values[1], 600000) << "the lowest mode serves half as many";
  }
}

// Whoever explains the run names what is in force, whether or not anybody measured it.
TEST(ReliefLoop, IsToldAsWhatStandsInForAChoice) {
  Overloaded rig(seconds(60));
  rig.run();
  Rationale rationale;
  rationale.know_safe(rig.board.safe());
  const std::vector<KeptNote>& notes = rig.recorder.notes;
  Setting in_force;
  std::size_t told = 0;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    tell(rationale, {notes[i]});
    if (notes[i].type == NoteType::setting) in_force = notes[i].setting;
    const bool tick_goes_on = i + 1 < notes.size() && notes[i + 1].time == notes[i].time;
    if (tick_goes_on || rationale.held.holding == Holding::nothing) continue;
    EXPECT_EQ(rationale.held.setting, in_force) << "at " << (notes[i].time - Time{}).count();
    ++told;
  }
  EXPECT_GT(told, 10U);
  EXPECT_EQ(rationale.held.holding, Holding::fallback);
  EXPECT_EQ(rationale.held.why, "requests were late");
}

// Of 40 requests a second, which all three settings answer beside training, 500 become.
TEST(ReliefLoop, WhereNothingThatIsKnownServesThemWhatServesTheMostOfThemIsHeldAtOnce) {
  ServingRig rig(best_of(kThree), seconds(60));
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  Time burst = Time::max();
  rig.world.at(seconds(40), [&server] { server.per_s = 500; });
  rig.run();
  for (const KeptNote& note : rig.recorder.of(NoteType::safe)) {
    if (note.text == "the policy found no setting") burst = std::min(burst, note.time);
  }
  ASSERT_LT(burst, Time{} + seconds(45));
  const std::vector<Setting> settings = rig.settings_since(burst - Time{});
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings.front().mode, kFast) << "not the lowest";
  EXPECT_EQ(settings.front().run, Run::infer);
  for (const Setting& setting : settings) EXPECT_NE(setting.mode, kSlow);
}

// The cap falls below what is held; of what is left the faster answers two thirds of the requests.
TEST(ReliefLoop, ACapThatLeavesNothingThatServesThemAllLeavesWhatServesTheMost) {
  ServingRig rig(best_of(kThree), seconds(60), 40'000);
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  rig.world.at(seconds(39), [&server] { server.per_s = 240; });
  rig.world.cap(seconds(45), 18'000);
  rig.run();
  const std::vector<Setting> settings = rig.settings_since(seconds(45));
  ASSERT_FALSE(settings.empty());
  EXPECT_EQ(settings.front().mode, kMiddle);
  EXPECT_EQ(settings.front().run, Run::infer);
  for (const Setting& setting : settings) EXPECT_NE(setting.mode, kSlow);
}

// What serves is known, and the policy would not have it.
TEST(ReliefLoop, APolicyThatFindsNothingThoughSomethingServesHoldsTheSafeMode) {
  const auto nil = [](const PolicyContext&, const std::vector<Observation>& answers) {
    if (answers.size() < kThree.size()) return kThree[answers.size()];
    return Request{Request::What::hold_safe, {}};
  };
  ServingRig rig(nil, seconds(40));
  rig.world.attach_server(milliseconds(0), 40);
  rig.run();
  const KeptNote told = rig.recorder.of(NoteType::safe).back();
  EXPECT_EQ(told.text, "the policy found no setting");
  EXPECT_EQ(rig.settings_since(told.time - Time{}).front().mode, kSlow);
}

// A server alone that is late in this mode: the one that relief takes.
PowerMode raised(std::optional<std::int64_t> cap_mw, const PowerMode& from = mode(1, 900000)) {
  ServingRig rig(best_of({with_batch(measure(from), 1)}), seconds(20), cap_mw, by_power());
  rig.world.detach(milliseconds(0));
  rig.world.attach_server(milliseconds(1), 400);
  rig.run();
  Time late = Time::max();
  for (const KeptNote& note : rig.recorder.of(NoteType::late)) {
    if (note.setting.mode == from) late = std::min(late, note.time);
  }
  for (const Setting& setting : rig.settings_since(late - Time{})) {
    if (setting.mode != from) return setting.mode;
  }
  return {};
}

// By power four cores at 600 MHz come half of the way up, and serve less: a server whose memory
// clock fell so answered a second of requests late.
TEST(ReliefLoop, NoKnobFallsWhereClocksAreToRise) { EXPECT_EQ(raised(100'000), mode(3, 900000)); }

// By power one core at 900 MHz is half of the way up, and the next one is faster.
TEST(ReliefLoop, OfModesThatDrawAsMuchTheOneWithNoKnobFarDownIsTaken) {
  EXPECT_EQ(raised(100'000, kSlow), mode(3, 600000));
}

TEST(ReliefLoop, WithoutACapTheHighestModeIsTakenAtOnce) { EXPECT_EQ(raised({}), mode(4, 900000)); }

// Single requests are served alone at 30 a second, which is known; of 105 a second one in twenty is
// not.
TEST(ReliefLoop, WhereMoreComeThanWhatServedThemServesTheBatchGrows) {
  const auto nothing = [](const PolicyContext&, const auto&) {
    return Request{Request::What::hold_safe, {}};
  };
  ServingRig rig(nothing, seconds(60));
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<FakeSensor>(rig.hardware));
  BoardTraits traits = fake_traits();
  traits.modes = {kFast};
  traits.safe = kFast;
  rig.board = Board(std::make_unique<FakeActuator>(rig.hardware), std::move(sensors), traits);
  FakeServer& server = rig.world.attach_server(milliseconds(1), 30);
  for (int i = 1; i < 600; ++i) {
    rig.world.at(milliseconds(100 * i), [&] {
      const std::vector<WorkloadCommand> commands = rig.world.commands_to(1);
      const bool waits = !commands.empty() && commands.back().run == Run::infer;
      server.late_ms = waits ? 0 : 400;
    });
  }
  rig.world.at(seconds(30), [&] {
    EXPECT_EQ(rig.recorder.of(NoteType::setting).back().setting.batch_size[index(Kind::infer)], 1);
    EXPECT_EQ(rig.world.commands_to(1).back().run, Run::infer);
    server.per_s = 105;
  });
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::setting).back().setting.batch_size[index(Kind::infer)], 4);
}

TEST(ReliefLoop, TheTrainerGoesOnOnceNobodyAsks) {
  Overloaded rig(seconds(90));
  rig.world.at(seconds(40), [&] {
    EXPECT_EQ(rig.world.commands_to(1).back().run, Run::infer);
    rig.server.per_s = 0;
  });
  rig.run();
  EXPECT_TRUE(runs(rig.world.commands_to(1).back().run, Kind::train));
}

// Beside requests the trainer would draw more than the setting that is cut.
TEST(ReliefLoop, ACutInTheLowestModeDoesNotBringTheTrainerBack) {
  Overloaded rig(seconds(34));
  rig.limit = OperatorLimit(10'500);
  rig.hardware.training_mw = 1000;
  rig.world.at(seconds(30), [&] {
    EXPECT_EQ(rig.world.commands_to(1).back().run, Run::infer);
    rig.hardware.extra_mw = 1000;
  });
  rig.world.at(seconds(31), [&] { rig.hardware.extra_mw = 0; });
  rig.run();
  EXPECT_EQ(rig.world.commands_to(1).back().run, Run::infer);
  for (const Setting& setting : rig.settings_since(seconds(30))) {
    EXPECT_EQ(setting.run, Run::infer);
  }
}

// What came since runs too, and so it can be asked to wait: before the policy has been asked, which
// waits until power is known.
TEST(ReliefLoop, ATrainerThatComesAfterTheServerWaitsWhereRequestsAreLate) {
  ServingRig rig([](const PolicyContext&, const auto&) { return hold(kFast); }, seconds(30));
  rig.hardware.averaging = milliseconds(430);
  std::vector<std::unique_ptr<Sensor>> sensors;
  sensors.push_back(std::make_unique<FakeSensor>(rig.hardware));
  BoardTraits traits = fake_traits();
  traits.modes = {kSlow, kMiddle, kFast};
  traits.power_averaging = rig.hardware.averaging;
  rig.board = Board(std::make_unique<FakeActuator>(rig.hardware), std::move(sensors), traits);
  rig.world.detach(milliseconds(1));
  FakeServer& server = rig.world.attach_server(milliseconds(2), 40);
  rig.world.attach(seconds(20));
  rig.world.at(seconds(20), [&] { server.late_ms = 1000; });
  rig.world.at(seconds(21), [&] {
    const std::vector<WorkloadCommand> commands = rig.world.commands_to(1);
    ASSERT_FALSE(commands.empty());
    EXPECT_FALSE(runs(commands.back().run, Kind::train));
  });
  rig.run();
}

}  // namespace
}  // namespace gearshift
