// What is minimised: the operator's changes, and what a weighted goal is measured against.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

const PowerMode kModes[] = {mode(1, 300000), mode(2, 300000), mode(3, 300000),
                            mode(3, 600000), mode(4, 600000), mode(4, 900000)};

// Measures the middle mode, then holds what costs least of all that is known.
Request least_known(const PolicyContext& context, const std::vector<Observation>& answers) {
  if (answers.empty()) return measure(kMiddle);
  Observation best = answers.front();
  for (const Observation& one : context.observations) {
    if (one.keeps(context.goal) && one.value(context.goal) < best.value(context.goal)) best = one;
  }
  return hold(best.setting.mode);
}

struct WeightedRig : Rig {
  explicit WeightedRig(std::optional<std::int64_t> cap_mw = std::nullopt, double energy_weight = 0,
                       const Workload& workload = trainer(), Duration end = seconds(60))
      : Rig(least_known, end, cap_mw) {
    offer({std::begin(kModes), std::end(kModes)}, kSlow);
    options.goal.objective = Objective::weighted;
    options.goal.energy_weight = energy_weight;
    world.attach(seconds(1), workload);
  }
  void offer(std::vector<PowerMode> modes, const PowerMode& safe) {
    BoardTraits traits = fake_traits();
    traits.modes = std::move(modes);
    traits.safe = safe;
    std::vector<std::unique_ptr<Sensor>> sensors;
    sensors.push_back(std::make_unique<FakeSensor>(hardware));
    board = Board(std::make_unique<FakeActuator>(hardware), std::move(sensors), traits);
    hardware.values = {safe.values[0], safe.values[1]};
  }
  void change(Duration time, const GoalChange& change) {
    Event event;
    event.type = EventType::goal;
    event.goal = change;
    world.at(time, event);
  }
  std::vector<PowerMode> measured() const {
    std::vector<PowerMode> modes;
    for (const KeptNote& note : recorder.of(NoteType::observation)) {
      modes.push_back(note.setting.mode);
    }
    return modes;
  }
};

// Least latency, and nobody's: only a trainer, whose user gave the rate of requests to come.
struct UnservedRig : Rig {
  UnservedRig() : Rig(least_known, seconds(60)) {
    options.goal.objective = Objective::latency;
    options.goal.arrivals_per_s = 60;
    world.attach(seconds(1));
  }
  std::size_t told() const {
    const auto notes = recorder.of(NoteType::objective);
    return static_cast<std::size_t>(
        std::count_if(notes.begin(), notes.end(), [](const KeptNote& note) {
          return note.text ==
                 "latency: no server is attached; the time of a sample counts meanwhile";
        }));
  }
};

TEST(Objective, LeastLatencyWithoutAServerIsToldOnceAndCountsTime) {
  UnservedRig rig;
  rig.world.detach(seconds(30));
  rig.world.attach(seconds(32), trainer(2));
  rig.run();
  EXPECT_EQ(rig.told(), 1U);
  ASSERT_EQ(rig.policy.goals.size(), 2U);
  EXPECT_EQ(rig.policy.goals[0].objective, Objective::time);
  ASSERT_EQ(rig.recorder.of(NoteType::hold).size(), 2U);
  EXPECT_TRUE(std::isfinite(rig.policy.answers.at(0).value(rig.summary.goal)));
  EXPECT_EQ(rig.summary.goal.objective, Objective::latency) << "it stays what was asked for";
}

TEST(Objective, LeastLatencyIsToldAgainWhenTheServerHasLeft) {
  UnservedRig rig;
  Workload server = trainer(3, "server");
  server.kind = Kind::infer;
  rig.world.attach(seconds(20), server);
  rig.world.detach(seconds(40), 3);
  rig.run();
  EXPECT_EQ(rig.told(), 2U);
  ASSERT_GE(rig.policy.goals.size(), 3U);
  EXPECT_EQ(rig.policy.goals[1].objective, Objective::latency);
  EXPECT_EQ(rig.policy.goals.back().objective, Objective::time);
}

TEST(Objective, TheHighestSettingIsMeasuredBeforeThePolicyIsAskedAndSeenByIt) {
  WeightedRig rig;
  rig.run();
  EXPECT_EQ(rig.measured(), (std::vector<PowerMode>{kFast, kMiddle}));
  ASSERT_EQ(rig.policy.goals.size(), 1U);
  // 40 ms for 16 samples at 22 W.
  EXPECT_NEAR(rig.policy.goals[0].reference_s, 0.0025, 1e-6);
  EXPECT_NEAR(rig.policy.goals[0].reference_j, 0.055, 1e-4);
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].setting.mode, kFast);
  EXPECT_EQ(notes[0].text.find("highest"), std::string::npos) << notes[0].text;
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast) << "weight 0 is time";
}

TEST(Objective, UnderACapTheReferenceIsTheHighestModeThatKeepsIt) {
  WeightedRig rig(18000);
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].setting.mode, mode(3, 600000)) << "17 W; the next draws 19 W";
  EXPECT_NE(notes[0].text.find("cannot be measured under this cap"), std::string::npos);
  EXPECT_LE(rig.summary.measurements, 5U);
  EXPECT_GT(rig.summary.goal.reference_j, 0);
}

TEST(Objective, ARaisedCapLetsTheHighestSettingBeMeasuredAfterAll) {
  WeightedRig rig(18000);
  rig.world.cap(seconds(30), 0);
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[1].setting.mode, kFast);
}

TEST(Objective, WhatDrewMoreThanTheRaisedCapIsNotMeasuredForTheReferenceAgain) {
  WeightedRig rig(18000);
  rig.world.cap(seconds(30), 19500);
  rig.run();
  const auto modes = rig.measured();
  EXPECT_EQ(std::count(modes.begin(), modes.end(), kFast), 1) << "it draws 22 W";
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[1].setting.mode, mode(4, 600000)) << "19 W";
}

TEST(Objective, AChangedWeightRestartsThePolicyAndMeasuresNothingAgain) {
  WeightedRig rig;
  rig.change(seconds(30), {.energy_weight = 1});
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.policy.goals.back().energy_weight, 1);
  EXPECT_EQ(rig.policy.goals.back().reference_s, rig.policy.goals.front().reference_s);
  EXPECT_EQ(rig.measured().size(), 2U);
  EXPECT_EQ(rig.recorder.of(NoteType::reference).size(), 1U);
  EXPECT_EQ(rig.recorder.of(NoteType::objective).at(0).text, "weighted, energy weight 1");
  EXPECT_EQ(rig.world.published.goal.energy_weight, 1);
  ASSERT_EQ(rig.summary.choices.size(), 2U) << "one for each goal";
}

TEST(Objective, AChangeToAWeightedGoalMeasuresTheReferenceThen) {
  WeightedRig rig;
  rig.options.goal.objective = Objective::time;
  rig.change(seconds(30), {.objective = Objective::weighted, .energy_weight = 0.5});
  rig.run();
  EXPECT_EQ(rig.measured(), (std::vector<PowerMode>{kMiddle, kFast}));
  EXPECT_EQ(rig.policy.goals.size(), 2U);
}

TEST(Objective, AnotherWorkloadIsMeasuredAgainstItsOwnReference) {
  WeightedRig rig;
  rig.world.detach(seconds(30));
  rig.world.attach(seconds(32), trainer(2, "lstm"));
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::reference).size(), 2U);
  EXPECT_EQ(rig.measured(), (std::vector<PowerMode>{kFast, kMiddle, kFast, kMiddle}));
}

TEST(Objective, TheSameWorkloadThatComesBackKeepsItsReference) {
  WeightedRig rig;
  rig.world.detach(seconds(30));
  rig.world.attach(seconds(32), trainer(2));
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::reference).size(), 1U);
  EXPECT_EQ(rig.measured().size(), 2U);
}

TEST(Objective, OneThatComesBackWithAnotherBatchIsMeasuredAgainstItsOwnReference) {
  WeightedRig rig;
  Workload other = trainer(2);
  other.batch_size = 32;
  rig.world.detach(seconds(30));
  rig.world.attach(seconds(32), other);
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].setting.batch_size[index(Kind::train)], 16);
  EXPECT_EQ(notes[1].setting.batch_size[index(Kind::train)], 32);
}

// Its energy is what the board draws until the next request comes, which changes with their rate.
TEST(Objective, TheReferenceOfALoneServerIsOfTheRateThatItsRequestsComeAt) {
  WeightedRig rig(std::nullopt, 0.5);
  rig.policy = ListPolicy(best_of({with_batch(measure(kMiddle), 4)}));
  rig.world.detach(seconds(1));
  Workload lone = server();
  lone.latency = {};
  FakeServer& served = rig.world.attach_server(seconds(2), 60, lone);
  rig.world.at(seconds(20), [&served] { served.per_s = 120; });
  rig.world.detach(seconds(40), lone.handle);
  Event again;
  again.type = EventType::attached;
  again.handle = lone.handle;
  again.workload = lone;
  rig.world.at(seconds(42), again);
  rig.run();
  std::vector<double> rates;
  for (const Goal& goal : rig.policy.goals) rates.push_back(std::round(goal.arrivals_per_s));
  EXPECT_EQ(rates, (std::vector<double>{60, 125, 0, 125}));
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), rates.size());
  std::vector<Observation> measured;
  for (const KeptNote& note : rig.recorder.of(NoteType::observation)) {
    if (note.observation->ok()) measured.push_back(*note.observation);
  }
  ASSERT_EQ(measured.size(), 2U) << "the reference and the middle mode, once each";
  for (const KeptNote& note : notes) EXPECT_EQ(note.setting, measured[0].setting);
  for (const Goal& goal : rig.policy.goals) {
    EXPECT_DOUBLE_EQ(measured[0].value(goal), 1) << goal.arrivals_per_s;
  }
}

// A knob was refused when the reference was sought, and is not any more.
TEST(Objective, AHigherSettingThatIsMeasuredAfterAllIsTheReference) {
  WeightedRig rig;
  rig.policy = ListPolicy([](const PolicyContext&, const std::vector<Observation>& answers) {
    Request highest = measure(kFast);
    highest.what = Request::What::remeasure;
    return answers.empty() ? highest : hold(kFast);
  });
  rig.hardware.refuse = "gpu_mhz";
  rig.world.at(seconds(3), [&rig] { rig.hardware.refuse.clear(); });
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_NE(notes[0].setting.mode, kFast);
  EXPECT_EQ(notes[1].setting.mode, kFast);
  EXPECT_NEAR(rig.policy.answers.back().value(rig.summary.goal), 1, 1e-9);
}

// Nothing else was to be tried for the reference.
TEST(Objective, WhatIsMeasuredAfterAllIsTheReferenceWhereThereWasNone) {
  WeightedRig rig;
  rig.offer({kFast}, kSlow);
  rig.policy = ListPolicy([](const PolicyContext&, const std::vector<Observation>& answers) {
    Request highest = measure(kFast);
    highest.what = Request::What::remeasure;
    if (answers.empty()) return measure(kSlow);
    return answers.size() == 1 ? highest : hold(kFast);
  });
  rig.hardware.refuse = "gpu_mhz";
  rig.world.at(seconds(2), [&rig] { rig.hardware.refuse.clear(); });
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_GE(notes.size(), 2U);
  EXPECT_EQ(notes.front().text.rfind("none: ", 0), 0U) << notes.front().text;
  EXPECT_EQ(notes.back().setting.mode, kFast);
  EXPECT_NEAR(rig.policy.answers.back().value(rig.summary.goal), 1, 1e-9);
}

// A server alone, which came with batches of 16 and has to answer within 400 ms.
struct WeightedServerRig : WeightedRig {
  explicit WeightedServerRig(double per_s) : WeightedRig(std::nullopt, 0.5) {
    Workload lone = server();
    lone.batch_size = 16;
    policy = ListPolicy(best_of({with_batch(measure(kMiddle), 4)}));
    world.detach(seconds(1));
    world.attach_server(seconds(2), per_s, lone);
    run();
  }
  std::vector<Setting> asked_first() const {
    std::vector<Setting> asked;
    for (const KeptNote& note : recorder.of(NoteType::observation)) asked.push_back(note.setting);
    asked.pop_back();
    return asked;
  }
};

Setting fastest_server(std::int32_t batch_size) { return {kFast, {0, batch_size}, Run::infer}; }

TEST(Objective, ALateReferenceIsTriedWithASmallerBatchInTheHighestMode) {
  const WeightedServerRig rig(40);
  EXPECT_EQ(rig.asked_first(), (std::vector<Setting>{fastest_server(16), fastest_server(4)}));
  EXPECT_EQ(rig.recorder.of(NoteType::reference).back().setting, fastest_server(4));
}

// Half of 16 have come after 400 ms.
TEST(Objective, NoBatchThatIsNeverInTimeIsTriedForTheReference) {
  const WeightedServerRig rig(20);
  EXPECT_EQ(rig.asked_first(), (std::vector<Setting>{fastest_server(4)}));
  EXPECT_EQ(rig.recorder.of(NoteType::reference).back().setting, fastest_server(4));
}

TEST(Objective, AChangeThatLacksANumberIsRefusedInANote) {
  WeightedRig rig;
  rig.change(seconds(30), {.objective = Objective::target});
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::objective).at(0).text.rfind("unchanged: ", 0), 0U);
  EXPECT_EQ(rig.policy.starts, 1);
}

TEST(Objective, WithoutAModeThatCanBeMeasuredThePolicyIsAskedAllTheSame) {
  WeightedRig rig(8000);  // the lowest mode draws 10 W
  rig.run();
  EXPECT_GT(rig.recorder.of(NoteType::over_cap).size(), 0U);
  EXPECT_EQ(rig.summary.goal.reference_s, 0);
}

Workload large_batches() {
  Workload workload = trainer();
  workload.batch_size = 256;
  workload.batch_sizes = {16, 64, 256};
  return workload;
}

TEST(Objective, WhereNoModeCanBeMeasuredWithItTheReferenceHasASmallerBatch) {
  WeightedRig rig(30'000, 0.25, large_batches());
  rig.offer({kFast}, kFast);
  rig.hardware.batch_size = 256;
  rig.hardware.sample_mw = 50;  // 34.8 W with 256 of them, 25.2 W with 64
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].setting.batch_size[index(Kind::train)], 64);
  EXPECT_NE(notes[0].text.find("nothing can be measured with a larger batch under this cap"),
            std::string::npos)
      << notes[0].text;
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_LT(rig.policy.answers[0].value(rig.summary.goal), 10);
}

TEST(Objective, TheModesAreSearchedAgainWithTheSmallerBatch) {
  WeightedRig rig(21'000, 0.25, large_batches(), seconds(300));
  rig.hardware.batch_size = 256;
  rig.hardware.sample_mw = 50;  // 22.8 W with 256 of them in the lowest mode, 13.2 W with 64
  rig.run();
  const auto notes = rig.recorder.of(NoteType::reference);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].setting.batch_size[index(Kind::train)], 64);
  EXPECT_EQ(notes[0].setting.mode, mode(3, 600000)) << "20.2 W; the next draws 22.2 W";
}

TEST(Objective, AReferenceThatAProgramGaveIsNotMeasured) {
  WeightedRig rig;
  rig.options.goal.reference_s = 1;
  rig.options.goal.reference_j = 20;
  rig.run();
  EXPECT_EQ(rig.measured(), (std::vector<PowerMode>{kMiddle}));
}

}  // namespace
}  // namespace gearshift
