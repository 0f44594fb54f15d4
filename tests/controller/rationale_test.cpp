#include "controller/rationale.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "tests/fakes/gpu_gears.h"

namespace gearshift {
namespace {

using fakes::gpu_gear;
using fakes::measured_gear;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RationaleTest : public testing::Test {
 protected:
  void note(NoteType type, std::string_view text, std::int64_t value = 0) {
    rationale.note({type, now, 1, value, nullptr, nullptr, nullptr, text});
  }
  void attach(WorkloadHandle handle, std::string_view name, Kind kind = Kind::train,
              bool managed = true, std::int32_t batch_size = 16) {
    Event event;
    event.type = EventType::attached;
    event.workload.handle = handle;
    event.workload.kind = kind;
    event.workload.managed = managed;
    event.workload.batch_size = kind == Kind::train ? batch_size : 0;
    event.workload.name = BoundedText<64>(name);
    rationale.tick({now, {&event, 1}, {}});
  }
  void detach(WorkloadHandle handle) {
    Event event;
    event.type = EventType::detached;
    event.handle = handle;
    rationale.tick({now, {&event, 1}, {}});
  }
  void hold(NoteType type, std::int64_t gpu_khz, std::string_view text = "") {
    const Setting setting = gpu_gear(gpu_khz);
    rationale.note({type, now, 0, 0, &setting, nullptr, nullptr, text});
  }
  void observe(const Observation& observation) {
    rationale.note(
        {NoteType::observation, now, 0, 0, &observation.setting, &observation, nullptr, ""});
  }
  // Three gears under a cap of 30 W, of which the middle one is held. It is slower than the first,
  // which is over the cap, and needs more energy than the last.
  void search() {
    note(NoteType::goal, "operator", 30'000);
    attach(1, "resnet18");
    observe(measured_gear(900, 40, 34'000));
    observe(measured_gear(600, 50, 28'000));
    observe(measured_gear(300, 80, 15'000));
    now += seconds(3);
    hold(NoteType::hold, 600);
  }

  Rationale rationale;
  Time now{std::chrono::hours(1)};
};

TEST_F(RationaleTest, SaysWhatIsHeldSinceWhenAndWhy) {
  EXPECT_EQ(rationale.held.holding, Holding::nothing);
  EXPECT_EQ(rationale.held_cost(), nullptr);
  search();
  EXPECT_EQ(rationale.held.holding, Holding::choice);
  EXPECT_EQ(rationale.held.setting, gpu_gear(600));
  EXPECT_EQ(rationale.held.since, now);
  ASSERT_NE(rationale.held_cost(), nullptr);
  EXPECT_EQ(rationale.held_cost()->power_mean_mw, 28'000);
  EXPECT_EQ(rationale.cap.power_mw, 30'000);
  EXPECT_EQ(rationale.cap.source, "operator");
}

TEST_F(RationaleTest, KeepsWhatWasPredictedOfEachSettingAndOfWhatIsHeld) {
  rationale.predict_with([](const Setting& setting) -> std::optional<PredictedCost> {
    if (setting == gpu_gear(300)) return std::nullopt;
    return PredictedCost{milliseconds(48), setting.mode.values[0] * 50};
  });
  search();
  ASSERT_EQ(rationale.tried().size(), 3u);
  EXPECT_EQ(rationale.tried()[0].predicted->power_mw, 45'000);
  EXPECT_EQ(rationale.tried()[1].predicted->minibatch, milliseconds(48));
  EXPECT_EQ(rationale.tried()[2].predicted, std::nullopt);
  EXPECT_EQ(rationale.held.predicted->power_mw, 30'000);
  hold(NoteType::safe, 300);
  EXPECT_EQ(rationale.held.predicted, std::nullopt);
}

TEST_F(RationaleTest, KeepsTheNewestPlanAndBattery) {
  note(NoteType::plan, "planned: 12.4 W");
  note(NoteType::plan, "reserve");
  EXPECT_EQ(rationale.plan, "reserve");
  Status status;
  status.battery.energy_wh = 4.5;
  rationale.status(status);
  EXPECT_EQ(rationale.battery.energy_wh, 4.5);
}

TEST_F(RationaleTest, KeepsWhichZonesFailedUntilAllAreBack) {
  const auto tell = [&](std::int64_t lost, std::string_view text) {
    rationale.note({.type = NoteType::temperature, .value = lost, .text = text});
  };
  tell(1, "no temperature: cpu-thermal");
  EXPECT_EQ(rationale.heat, "no temperature: cpu-thermal");
  tell(0, "temperature is known again: cpu-thermal");
  EXPECT_EQ(rationale.heat, "");
}

TEST_F(RationaleTest, SaysWhyTheSafeSettingIsHeld) {
  hold(NoteType::safe, 100, "power is unknown: the reading is stale");
  EXPECT_EQ(rationale.held.holding, Holding::safe);
  EXPECT_EQ(rationale.held.why, "power is unknown: the reading is stale");
}

TEST_F(RationaleTest, SaysThatTheSearchWasEnded) {
  note(NoteType::search_ended, "5000 measurements");
  hold(NoteType::hold, 600);
  EXPECT_EQ(rationale.held.holding, Holding::best);
  EXPECT_EQ(rationale.held.why, "5000 measurements");
  hold(NoteType::hold, 300);
  EXPECT_EQ(rationale.held.holding, Holding::choice) << "the end was of the search before";
}

TEST_F(RationaleTest, KnowsWhatIsInForceAfterAStepDownAndWhileTheSearchWaits) {
  rationale.know_safe(gpu_gear(100).mode);
  search();
  now += seconds(1);
  note(NoteType::over_cap, "stepping down", 31'000);
  hold(NoteType::setting, 300);
  EXPECT_EQ(rationale.held.holding, Holding::fallback);
  EXPECT_EQ(rationale.held.setting, gpu_gear(300));
  EXPECT_EQ(rationale.held.why, "power was over the cap");
  now += seconds(1);
  hold(NoteType::rationed, 300, "the search waits");
  EXPECT_EQ(rationale.held.holding, Holding::fallback);
  EXPECT_EQ(rationale.held.why, "the search waits");
  now += seconds(1);
  hold(NoteType::setting, 300);
  EXPECT_EQ(rationale.held.why, "the search waits") << "it is only set again";
  hold(NoteType::setting, 700);
  EXPECT_EQ(rationale.held.holding, Holding::nothing) << "the search goes on";
  hold(NoteType::hold, 600);
  EXPECT_EQ(rationale.held.holding, Holding::choice);
  hold(NoteType::rationed, 600, "the search waits");
  EXPECT_EQ(rationale.held.holding, Holding::choice) << "it is in force";
  note(NoteType::over_cap, "stepping down", 31'000);
  hold(NoteType::setting, 100);
  EXPECT_EQ(rationale.held.holding, Holding::safe);
  EXPECT_EQ(rationale.held.setting, gpu_gear(100));
}

TEST_F(RationaleTest, WhereACapFallsTellsAStepDownFromAMeasurement) {
  rationale.know_safe(gpu_gear(100).mode);
  search();
  note(NoteType::goal, "operator", 29'000);
  hold(NoteType::setting, 450);
  EXPECT_EQ(rationale.held.setting, gpu_gear(600)) << "it fits, and the search goes on at once";
  now += seconds(1);
  note(NoteType::goal, "operator", 20'000);
  hold(NoteType::setting, 300);
  EXPECT_EQ(rationale.held.holding, Holding::fallback);
  EXPECT_EQ(rationale.held.setting, gpu_gear(300));
  EXPECT_EQ(rationale.held.why, "the cap fell");
  note(NoteType::goal, "operator", 10'000);
  hold(NoteType::setting, 100);
  EXPECT_EQ(rationale.held.holding, Holding::safe);
}

TEST_F(RationaleTest, WhatIsSetInAChoicesSteadIsHeldWhetherOrNotItIsKnown) {
  const auto set = [this](std::int64_t gpu_khz, SetFor what) {
    const Setting setting = gpu_gear(gpu_khz);
    rationale.note({.type = NoteType::setting,
                    .time = now,
                    .value = static_cast<std::int64_t>(what),
                    .setting = &setting});
    now += seconds(1);
  };
  const auto expect = [this](Holding holding, std::int64_t gpu_khz, std::string_view why) {
    EXPECT_EQ(rationale.held.holding, holding);
    EXPECT_EQ(rationale.held.setting, gpu_gear(gpu_khz));
    EXPECT_EQ(rationale.held.why, why);
  };
  rationale.know_safe(gpu_gear(100).mode);
  search();
  note(NoteType::late, "p99 71 ms of 60 ms");
  set(300, SetFor::policy);
  expect(Holding::choice, 600, "the policy chose it");
  set(450, SetFor::limits);
  expect(Holding::fallback, 450, "another setting could not stay in force");
  hold(NoteType::safe, 300, "the policy found no setting");
  set(300, SetFor::requests);
  expect(Holding::fallback, 300, "the policy found no setting");
  note(NoteType::late, "p99 71 ms of 60 ms");
  set(470, SetFor::requests);
  expect(Holding::fallback, 470, "requests were late");
  set(100, SetFor::limits);
  expect(Holding::safe, 100, "requests were late");
  set(700, SetFor::policy);
  EXPECT_EQ(rationale.held.holding, Holding::nothing) << "the search goes on";
  set(490, SetFor::requests);
  expect(Holding::fallback, 490, "requests were late");
}

// Training waits in both, which keep the goal and are worth nothing.
TEST_F(RationaleTest, OfEqualsWhatIsHeldIsTheBest) {
  rationale.set_goal({.arrivals_per_s = 40});
  const auto serving = [](std::int64_t gpu_khz) {
    Observation alone = measured_gear(gpu_khz, 50, 20'000);
    alone.setting.batch_size = {16, 4};
    alone.setting.run = Run::infer;
    std::swap(alone.cost[0], alone.cost[1]);
    return alone;
  };
  observe(serving(300));
  observe(serving(600));
  ASSERT_NE(rationale.best().observation, nullptr);
  EXPECT_EQ(rationale.best().observation->setting, serving(300).setting) << "the first";
  const Setting held = serving(600).setting;
  rationale.note({.type = NoteType::hold, .time = now, .setting = &held});
  EXPECT_EQ(rationale.best().observation->setting, held);
}

TEST_F(RationaleTest, CountsHowOftenASettingWasMeasuredAndKeepsTheNewest) {
  observe(measured_gear(600, 50, 28'000));
  observe(measured_gear(600, 55, 28'500));
  Observation again = measured_gear(600, 55, 28'500);
  again.from_memory = true;
  observe(again);
  ASSERT_EQ(rationale.tried().size(), 1u);
  EXPECT_EQ(rationale.tried()[0].times, 2u);
  EXPECT_EQ(rationale.tried()[0].observation.power_mean_mw, 28'500);
}

TEST_F(RationaleTest, LeavesOutMeasurementsThatSayNothingOfTheSetting) {
  observe(measured_gear(600, 50, 28'000, Outcome::goal_changed));
  observe(measured_gear(600, 50, 28'000, Outcome::workload_changed));
  EXPECT_TRUE(rationale.tried().empty());
  observe(measured_gear(600, 0, 31'000, Outcome::over_limit));
  EXPECT_EQ(rationale.tried().size(), 1u);
}

TEST_F(RationaleTest, ForgetsWhatTheRunForgets) {
  search();
  detach(1);
  EXPECT_EQ(rationale.tried().size(), 3u) << "it may come back";
  attach(2, "resnet18");
  EXPECT_EQ(rationale.tried().size(), 3u) << "the same work came back";
  attach(3, "observed", Kind::train, false);
  EXPECT_EQ(rationale.tried().size(), 3u) << "a workload that is only observed changes nothing";
  note(NoteType::drift, "");
  EXPECT_TRUE(rationale.tried().empty());
  search();
  attach(4, "resnet18", Kind::infer);
  EXPECT_TRUE(rationale.tried().empty()) << "another kind's costs are others";
}

TEST_F(RationaleTest, ForgetsAWorkloadOnceAnotherCame) {
  search();
  detach(1);
  attach(2, "mobilenet");
  EXPECT_TRUE(rationale.tried().empty());
  observe(measured_gear(600, 5, 20'000));
  detach(2);
  attach(3, "resnet18");
  EXPECT_TRUE(rationale.tried().empty()) << "those were the other's";
}

TEST_F(RationaleTest, OfTwoThatLeaveOneAfterTheOtherKeepsWhatWasTried) {
  for (const bool goes_on : {false, true}) {
    rationale = Rationale();
    attach(7, "mobilenet", Kind::infer);
    search();
    detach(1);
    EXPECT_EQ(rationale.tried().size(), 3u);
    if (goes_on) observe(measured_gear(600, 5, 20'000));
    detach(7);
    EXPECT_EQ(rationale.tried().size(), goes_on ? 1u : 3u) << "what ran alone is told alone";
    attach(8, "mobilenet", Kind::infer);
    EXPECT_EQ(rationale.tried().size(), goes_on ? 1u : 0u) << "as the run does";
  }
}

TEST_F(RationaleTest, CountsOnlyWhatTheWorkloadStillOffersAndTheRestOnceItDoesAgain) {
  search();
  ASSERT_NE(rationale.best().observation, nullptr);
  detach(1);
  EXPECT_EQ(rationale.tried().size(), 3u) << "it may come back";
  attach(2, "resnet18", Kind::train, true, 64);
  EXPECT_TRUE(rationale.tried().empty());
  EXPECT_EQ(rationale.best().observation, nullptr);
  detach(2);
  attach(3, "resnet18");
  ASSERT_EQ(rationale.tried().size(), 3u);
  EXPECT_EQ(rationale.tried()[0].observation.setting, gpu_gear(900));
  detach(3);
  attach(4, "resnet18", Kind::train, true, 64);
  note(NoteType::drift, "power");
  detach(4);
  attach(5, "resnet18");
  EXPECT_TRUE(rationale.tried().empty()) << "what the run forgets it forgets everywhere";
}

TEST_F(RationaleTest, NamesTheCapThatWouldHoldAFasterOne) {
  search();
  const Alternative looser = rationale.looser();
  ASSERT_NE(looser.observation, nullptr);
  EXPECT_EQ(looser.cap_mw, 34'000);
  EXPECT_EQ(looser.observation->setting, gpu_gear(900));
  // One over the cap that is slower is no reason for a looser one.
  Rationale other;
  rationale = other;
  note(NoteType::goal, "operator", 30'000);
  observe(measured_gear(900, 60, 34'000));
  observe(measured_gear(600, 50, 28'000));
  hold(NoteType::hold, 600);
  EXPECT_EQ(rationale.looser().observation, nullptr);
}

TEST_F(RationaleTest, NamesTheCapBelowWhichAnotherIsHeldAndWhich) {
  search();
  const Alternative tighter = rationale.tighter();
  EXPECT_EQ(tighter.cap_mw, 28'000);
  ASSERT_NE(tighter.observation, nullptr);
  EXPECT_EQ(tighter.observation->setting, gpu_gear(300));
  hold(NoteType::hold, 300);
  EXPECT_EQ(rationale.tighter().observation, nullptr) << "nothing known needs less";
}

TEST_F(RationaleTest, CountsTheNoiseMargin) {
  Observation observation = measured_gear(600, 50, 28'000);
  observation.power_margin_mw = 500;
  EXPECT_EQ(needed_power_mw(observation), 28'500);
  note(NoteType::goal, "operator", 28'499);
  observe(observation);
  EXPECT_EQ(rationale.best().observation, nullptr);
  note(NoteType::goal, "operator", 28'500);
  EXPECT_NE(rationale.best().observation, nullptr);
}

TEST_F(RationaleTest, JudgesByTheGoalAndByAnother) {
  search();
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(600));
  EXPECT_EQ(rationale.for_objective(Objective::energy).observation->setting, gpu_gear(300));
  rationale.set_goal({.objective = Objective::energy});
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(300));
  EXPECT_EQ(rationale.for_objective(Objective::time).observation->setting, gpu_gear(600));
}

TEST_F(RationaleTest, KnowsWhatIsLateUntilItIsMeasuredAnew) {
  search();
  rationale.set_goal({.arrivals_per_s = 40});
  const auto late = [this](std::int64_t gpu_khz, std::int64_t millionths) {
    const Setting setting = gpu_gear(gpu_khz);
    rationale.note({.type = NoteType::late, .time = now, .value = millionths, .setting = &setting});
  };
  late(600, 0);
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(600)) << "it may have been an accident";
  late(600, 40'500'000);
  EXPECT_EQ(rationale.tried()[1].observation.late_per_s, 40.5);
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(300));
  Observation remembered = measured_gear(600, 50, 28'000);
  remembered.from_memory = true;
  observe(remembered);
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(300));
  rationale.set_goal({.arrivals_per_s = 30});
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(600)) << "fewer are in time";
  rationale.set_goal({.arrivals_per_s = 40});
  observe(measured_gear(600, 50, 28'000));
  EXPECT_EQ(rationale.best().observation->setting, gpu_gear(600));
}

}  // namespace
}  // namespace gearshift
