// A workload that reports nothing for a while, or refuses something once, tells nothing of the
// settings that were tried meanwhile.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/controller.h"
#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Measures each request, and holds the best answer, or nothing.
ListPolicy::Decide fastest_of(const std::vector<Request>& requests) {
  return [requests](const PolicyContext&, const std::vector<Observation>& answers) -> Request {
    if (answers.size() < requests.size()) return requests[answers.size()];
    const Observation* best = nullptr;
    for (const Observation& answer : answers) {
      if (answer.ok() && (best == nullptr || answer.value({}) < best->value({}))) best = &answer;
    }
    if (best == nullptr) return {};
    return {Request::What::hold, best->setting};
  };
}

std::vector<Outcome> outcomes(const std::vector<Observation>& answers) {
  std::vector<Outcome> found;
  for (const Observation& answer : answers) found.push_back(answer.outcome);
  return found;
}

Minibatch minibatch_of(const Workload& workload, Time received) {
  Minibatch minibatch;
  minibatch.workload = workload.handle;
  minibatch.kind = workload.kind;
  minibatch.batch_size = workload.batch_size;
  minibatch.elapsed = milliseconds(40);
  minibatch.received = received;
  return minibatch;
}

TEST(Silence, IsThatOfAllWhoRun) {
  Hardware hardware;
  FakeWorld world(hardware, seconds(1));
  Roster roster;
  const Workload trains = trainer(1);
  const Workload serves = server(2);
  roster.attach(trains);
  const Time then{seconds(10)};
  EXPECT_FALSE(roster.find_silent(then + minutes(1), then, seconds(20))) << "it may compile";
  roster.add(minibatch_of(trains, then));
  EXPECT_FALSE(roster.find_silent(then + seconds(20), Time{}, seconds(20)));
  EXPECT_FALSE(roster.find_silent(then + minutes(1), then + seconds(50), seconds(20)));
  EXPECT_TRUE(roster.find_silent(then + minutes(1), Time{}, seconds(20)));
  EXPECT_TRUE(roster.silent());
  roster.attach(serves);
  roster.add(minibatch_of(serves, then + minutes(1)));
  EXPECT_FALSE(roster.find_silent(then + minutes(1), Time{}, seconds(20)))
      << "training may only be starved";
  EXPECT_TRUE(roster.find_silent(then + minutes(2), Time{}, seconds(20)));
  roster.add(minibatch_of(trains, then + minutes(2)));
  EXPECT_FALSE(roster.silent());
  Setting waits;
  waits.batch_size = {trains.batch_size, serves.batch_size};
  waits.run = Run::train;
  roster.command(world, waits);
  EXPECT_FALSE(roster.silent());
}

struct PausingRig : Rig {
  PausingRig(const std::vector<Request>& requests, Duration from, Duration until, Duration end)
      : Rig(fastest_of(requests), end, 30'000) {
    world.attach(milliseconds(0));
    world.at(from, [this] { world.stalled = true; });
    world.at(until, [this] { world.stalled = false; });
  }
};

const std::vector kAll{measure(kSlow), measure(kMiddle), measure(kFast)};

TEST(Silence, APauseInTheFirstMeasurementsIsHeldAgainstNoSetting) {
  PausingRig rig(kAll, milliseconds(1200), seconds(61), minutes(4));
  Phase meanwhile{};
  rig.world.at(seconds(60), [&] { meanwhile = rig.world.published.phase; });
  rig.run();
  EXPECT_EQ(meanwhile, Phase::waiting) << "the search has not ended in the safe mode";
  EXPECT_EQ(outcomes(rig.policy.answers), (std::vector(3, Outcome::complete)));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.world.published.setting.mode, kFast);
  const auto told = rig.recorder.of(NoteType::safe);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].text, "no minibatch comes: nothing is tried until one does");
  EXPECT_LT(told[0].time, Time{} + seconds(23));
}

TEST(Silence, WhatIsKnownToFitIsHeldMeanwhile) {
  PausingRig rig(kAll, seconds(8), seconds(68), minutes(2));
  PowerMode meanwhile;
  rig.world.at(seconds(60), [&] { meanwhile = rig.world.published.setting.mode; });
  rig.run();
  EXPECT_NE(meanwhile, kSlow);
  EXPECT_EQ(outcomes(rig.policy.answers), (std::vector(3, Outcome::complete)));
}

TEST(Silence, ASettingInWhichItFallsSilentTwiceHasStalled) {
  Rig rig(fastest_of(kAll), minutes(3), 30'000);
  rig.world.attach(milliseconds(0));
  for (Duration at{}; at < minutes(3); at += milliseconds(50)) {
    rig.world.at(at, [&] { rig.world.stalled = rig.hardware.values[1] == 900'000; });
  }
  rig.hardware.values = {1, 300'000};
  rig.run();
  EXPECT_EQ(outcomes(rig.policy.answers),
            (std::vector{Outcome::complete, Outcome::complete, Outcome::stalled}));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.world.published.setting.mode, kMiddle);
}

TEST(Silence, ABatchSizeIsNotTakenUpInAPause) {
  PausingRig rig({measure(kFast, 32)}, seconds(2), seconds(85), minutes(3));
  rig.world.answers_after = seconds(90);
  rig.run();
  EXPECT_EQ(outcomes(rig.policy.answers), (std::vector{Outcome::complete}));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Silence, AChoiceThatNobodyHasMeasuredIsNotHeldToStall) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          minutes(3), 30'000);
  rig.world.attach(milliseconds(0));
  rig.world.at(milliseconds(1200), [&rig] { rig.world.stalled = true; });
  rig.world.at(seconds(60), [&rig] { rig.world.stalled = false; });
  rig.run();
  ASSERT_EQ(rig.summary.choices.size(), 1U);
  ASSERT_TRUE(rig.summary.choices[0].observation);
  EXPECT_TRUE(rig.summary.choices[0].observation->ok());
}

// Nothing but what was refused is known; then it is taken up.
TEST(Silence, ASearchInWhichAllFailedIsMadeAgainAfterAMinute) {
  Rig rig(fastest_of({measure(kFast, 32), measure(kMiddle, 32)}), minutes(3), 30'000);
  rig.world.refuse_commands = true;
  rig.world.at(seconds(30), [&rig] { rig.world.refuse_commands = false; });
  rig.world.attach(seconds(1));
  rig.run();
  const auto told = rig.recorder.of(NoteType::safe);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].text, "the policy found no setting");
  EXPECT_EQ(told[1].text, "what failed may not fail any more: the search is made again");
  EXPECT_EQ(told[1].time - told[0].time, minutes(1));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.world.published.setting.mode, kFast);
}

TEST(Silence, AChoiceThatFailedIsTriedAgainAfterAMinute) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast, 32); },
          minutes(3), 30'000);
  rig.world.refuse_commands = true;
  rig.world.at(seconds(30), [&rig] { rig.world.refuse_commands = false; });
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Silence, ASearchIsNotMadeAgainForAWorkloadThatReportsNothing) {
  Rig rig(fastest_of({measure(kFast)}), minutes(10), 30'000);
  rig.world.stalled = true;
  rig.world.attach(seconds(1));
  rig.world.at(minutes(8), [&rig] { rig.world.stalled = false; });
  rig.run();
  EXPECT_EQ(rig.policy.starts, 2);
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

}  // namespace
}  // namespace gearshift
