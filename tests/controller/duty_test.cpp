// Where the lowest mode with the smallest batches is over the cap, the workloads wait part of the
// time, so that mean power keeps it.
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/controller.h"
#include "tests/fakes/low_rig.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// For how long at most one window after the other was over the cap.
Duration longest_over(const Rig& rig, Duration from, std::int64_t cap_mw) {
  Duration longest{};
  Time since = Time{} + from;  // the newest window within the cap
  for (const Status& status : rig.recorder.statuses) {
    if (status.time <= since) continue;
    if (status.power_mw <= cap_mw) since = status.time;
    longest = std::max(longest, status.time - since);
  }
  return longest;
}

std::size_t minibatches(const Rig& rig, Kind kind, Duration from, Duration to) {
  return static_cast<std::size_t>(std::count_if(
      rig.recorder.events.begin(), rig.recorder.events.end(), [&](const Event& event) {
        return event.type == EventType::minibatch && event.minibatch.kind == kind &&
               event.minibatch.received > Time{} + from && event.minibatch.received < Time{} + to;
      }));
}

// The lowest mode draws 10 W with a load and 5 W without one.
TEST(Duty, MeanPowerKeepsACapThatTheLowestModeDoesNot) {
  for (const std::int64_t cap_mw : {9'500, 8'000, 6'000}) {
    LowRig rig(then_hold({kFast}, kFast), seconds(310), cap_mw);
    rig.world.slower = 0.1;
    rig.world.attach(seconds(1));
    rig.run();
    const double cap_w = static_cast<double>(cap_mw) / 1000;
    EXPECT_LE(mean_w(rig, seconds(10), seconds(310)), 1.005 * cap_w);
    EXPECT_LE(longest_over(rig, seconds(5), cap_mw), milliseconds(1300));
    // As much as the cap leaves, less what minibatches take to end.
    const double share =
        static_cast<double>(minibatches(rig, Kind::train, seconds(10), seconds(310))) /
        (300 / gearshift::seconds(rig.world.minibatch()));
    EXPECT_GE(share, 0.85 * (cap_w - 5) / 5) << cap_w;
    EXPECT_EQ(reports(rig, "infeasible"), 1U);
    EXPECT_EQ(rig.world.published.phase, Phase::resting);
  }
}

TEST(Duty, ALowestModeThatIsExactlyAtTheCapRunsOn) {
  LowRig rig(then_hold({kSlow}, kSlow), seconds(60), 10'000);
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_TRUE(rig.world.commands.empty());
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Duty, EndsAtOnceWhenTheCapRises) {
  LowRig rig(then_hold({}, kMiddle), seconds(60), 6'000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(30), 20'000);
  rig.world.at(seconds(33), [&rig] { EXPECT_EQ(rig.hardware.values[0], 3); });
  rig.run();
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_TRUE(runs(rig.world.commands.back().run, Kind::train));
}

TEST(Duty, GoesOnWhenTheCapFallsFurther) {
  LowRig rig(then_hold({}, kMiddle), seconds(60), 9'000);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(30), 8'000);
  rig.run();
  EXPECT_LE(longest_over(rig, seconds(5), 9'000), milliseconds(1300));
  EXPECT_LE(mean_w(rig, seconds(30), seconds(60)), 8.1);
}

TEST(Duty, EndsOnceARunIsWithinTheCap) {
  LowRig rig(then_hold({}, kSlow), seconds(90), 9'000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = -2'000; });
  rig.run();
  EXPECT_NE(rig.world.published.phase, Phase::resting);
  const std::size_t whole =
      static_cast<std::size_t>(30 / gearshift::seconds(rig.world.minibatch()));
  EXPECT_GE(minibatches(rig, Kind::train, seconds(50), seconds(81)), whole);
}

TEST(Duty, WhereWaitingIsNotEnoughTheyWaitForGoodAndOneReportSaysSo) {
  LowRig rig(then_hold({}, kSlow), seconds(60), 4'500);
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(reports(rig, "although the workloads wait"), 1U);
  EXPECT_EQ(minibatches(rig, Kind::train, seconds(6), seconds(60)), 0U);
}

TEST(Duty, WaitsWhilePowerIsUnknown) {
  LowRig rig(then_hold({}, kSlow), seconds(60), 9'000);
  rig.world.attach(seconds(1));
  rig.world.at(seconds(30), [&rig] { rig.hardware.reading_state = ReadingState::missing; });
  rig.run();
  EXPECT_GT(minibatches(rig, Kind::train, seconds(20), seconds(30)), 10U);
  EXPECT_EQ(minibatches(rig, Kind::train, seconds(33), seconds(60)), 0U);
}

// Measures 16 and 32 samples in the lowest mode, which draws 13.2 and 16.4 W with them, and holds
// the first. What a loader has fetched of 32 runs on, and draws more than the cap.
struct FetchedRig : LowRig {
  explicit FetchedRig(std::int64_t cap_mw)
      : LowRig(
            [](const PolicyContext&, const std::vector<Observation>& answers) {
              if (answers.size() < 2) return measure(kSlow, answers.empty() ? 16 : 32);
              return hold(kSlow, 16);
            },
            seconds(120), cap_mw) {
    hardware.sample_mw = 200;
    world.prefetched = 16;
    world.attach(seconds(1));
  }
};

TEST(Duty, LargerBatchesThatAreUsedUpMakeNoCapInfeasible) {
  FetchedRig rig(13'500);
  rig.run();
  EXPECT_EQ(reports(rig, "infeasible"), 0U);
  EXPECT_TRUE(rig.recorder.of(NoteType::safe).empty());
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  ASSERT_EQ(rig.recorder.of(NoteType::hold).size(), 1U);
  EXPECT_EQ(rig.recorder.of(NoteType::hold)[0].setting, (Setting{kSlow, {16, 0}, Run::train}));
  const Time cut = rig.time_of(NoteType::over_cap);
  EXPECT_LE(mean_w(rig, cut - Time{}, cut - Time{} + seconds(15)), 1.02 * 13.5)
      << "they wait in turns meanwhile";
}

TEST(Duty, WhatIsOverTheCapWithoutLargerBatchesTooIsToldOnceTheyAreUsedUp) {
  FetchedRig rig(11'000);  // 11.6 W of 8 samples
  rig.run();
  EXPECT_EQ(reports(rig, "infeasible"), 1U);
  EXPECT_EQ(rig.hardware.batch_size, 8);
  const auto used_up =
      std::find_if(rig.recorder.events.begin(), rig.recorder.events.end(), [](const Event& event) {
        return event.type == EventType::minibatch && event.minibatch.batch_size == 8;
      });
  ASSERT_NE(used_up, rig.recorder.events.end());
  EXPECT_GT(rig.recorder.of(NoteType::over_cap).back().time, used_up->minibatch.received);
  EXPECT_EQ(rig.world.published.phase, Phase::resting);
  EXPECT_LE(mean_w(rig, seconds(30), seconds(120)), 11.05);
}

TEST(Duty, LargerBatchesThatDoNotEndAreCalledInfeasibleAfterAMinute) {
  FetchedRig rig(13'500);
  rig.world.at(seconds(5), [&rig] { rig.world.prefetched = 100'000; });
  rig.run();
  EXPECT_EQ(reports(rig, "infeasible"), 1U);
  ASSERT_EQ(rig.recorder.of(NoteType::over_cap).size(), 2U);
  const Duration after = rig.time_of(NoteType::over_cap, 1) - rig.time_of(NoteType::over_cap);
  EXPECT_GT(after, seconds(60));
  EXPECT_LT(after, seconds(80));
  EXPECT_EQ(rig.world.published.phase, Phase::resting);
}

// A refusal ends nothing: they run on, and are what is wanted from then on.
TEST(Duty, LargerBatchesThatNoSmallerOnesFollowAreCalledInfeasibleAtOnce) {
  FetchedRig rig(13'500);
  rig.world.at(seconds(5), [&rig] { rig.world.prefetched = 100'000; });
  Event refusal;
  refusal.type = EventType::refused;
  refusal.handle = 1;
  refusal.text = BoundedText<96>("batch_size: an epoch has 20 samples");
  for (Duration time = seconds(20); time < seconds(25); time += milliseconds(100)) {
    rig.world.at(time, [&rig, refusal, time]() mutable {
      refusal.set_sequence = rig.world.commands.back().sequence;
      refusal.batch_size = rig.world.commands.back().batch_size;
      if (refusal.batch_size < 32) rig.world.at(time, refusal);
    });
  }
  rig.run();
  EXPECT_EQ(reports(rig, "infeasible"), 1U);
  EXPECT_EQ(rig.world.published.phase, Phase::resting);
  EXPECT_LE(longest_over(rig, seconds(15), 13'500), milliseconds(1'300));
}

// Nobody knows what was drawn while the machine slept.
TEST(Duty, OwesNothingForTheTimeThatTheMachineSlept) {
  for (const int beyond : {0, 100, 200, 300, 400, 500}) {
    LowRig rig(then_hold({}, kSlow), seconds(3'700), 8'000);
    rig.world.slower = 0.1;
    rig.world.attach(seconds(1));
    rig.world.suspend(seconds(30) + milliseconds(beyond), std::chrono::hours(1));
    rig.run();
    EXPECT_GT(minibatches(rig, Kind::train, seconds(3'650), seconds(3'700)), 500U) << beyond;
  }
}

TEST(Duty, ATrainerThatComesIsAskedWhatItDraws) {
  LowRig rig(then_hold({}, kSlow), seconds(60), 9'000);
  rig.world.attach(seconds(1));
  rig.world.detach(seconds(30));
  rig.world.at(seconds(30), [&rig] { rig.hardware.extra_mw = -2'000; });
  rig.world.attach(seconds(31), trainer(2, "lighter"));
  rig.run();
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
}

TEST(Duty, ATrainerThatCannotWaitIsAskedNoMoreThanThreeTimes) {
  LowRig rig(then_hold({}, kSlow), seconds(60), 9'000);
  rig.world.refuse_commands = true;
  rig.world.attach(seconds(1));
  rig.run();
  const auto asked =
      std::count_if(rig.world.commands.begin(), rig.world.commands.end(),
                    [](const WorkloadCommand& command) { return !runs(command.run, Kind::train); });
  EXPECT_EQ(asked, 3);
}

// What a policy that is reloaded asks for is tried, and the guard judges it.
TEST(Duty, AReloadedPolicyIsHeard) {
  for (const int beyond : {0, 100, 200, 300, 400, 500, 600, 700}) {
    // Some of these are in a run, and some in a wait.
    const Duration reload = seconds(30) + milliseconds(beyond);
    bool reloaded = false;
    const auto decide = [&](const PolicyContext&, const std::vector<Observation>& answers) {
      if (!reloaded) return Request{Request::What::hold_safe, {}};
      return answers.empty() ? measure(kMiddle) : hold(kMiddle);
    };
    LowRig rig(decide, seconds(60), 7'000);
    rig.world.slower = 0.1;
    rig.world.attach(seconds(1));
    Event event;
    event.type = EventType::script_changed;
    rig.world.at(reload, event);
    rig.world.at(reload, [&] {
      reloaded = true;
      rig.hardware.extra_mw = -12'000;  // 5 W in the middle
    });
    rig.run();
    EXPECT_EQ(rig.policy.replaces, 1);
    ASSERT_EQ(rig.policy.answers.size(), 1U);
    EXPECT_TRUE(rig.policy.answers[0].ok()) << beyond;
    EXPECT_EQ(rig.world.published.phase, Phase::holding) << beyond;
    EXPECT_GT(minibatches(rig, Kind::train, seconds(40), seconds(60)), 1000U) << beyond;
  }
}

TEST(Duty, AReloadedPolicyThatAsksForTooMuchIsCut) {
  bool reloaded = false;
  const auto decide = [&](const PolicyContext&, const std::vector<Observation>& answers) {
    return reloaded && answers.empty() ? measure(kMiddle) : Request{Request::What::hold_safe, {}};
  };
  LowRig rig(decide, seconds(60), 9'000);
  rig.world.attach(seconds(1));
  Event event;
  event.type = EventType::script_changed;
  rig.world.at(seconds(30), event);
  rig.world.at(seconds(30), [&] { reloaded = true; });
  rig.run();
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_FALSE(observations.empty());
  EXPECT_EQ(observations.back().setting.mode, kMiddle);
  EXPECT_EQ(observations.back().observation->outcome, Outcome::over_limit);
  EXPECT_LE(mean_w(rig, seconds(40), seconds(60)), 9.05);
  EXPECT_EQ(rig.world.published.phase, Phase::resting);
}

// 10 W for requests alone, 3 W more beside training.
struct BothRig : ServingRig {
  explicit BothRig(std::int64_t cap_mw)
      : ServingRig(
            [](const PolicyContext&, const auto&) {
              return Request{Request::What::hold_safe, {}};
            },
            seconds(120), cap_mw) {
    hardware.values = {1, 300000};
    hardware.training_mw = 3'000;
    server = &world.attach_server(seconds(1), 20);
  }
  FakeServer* server;
};

TEST(Duty, TrainingWaitsBeforeRequestsDo) {
  BothRig rig(11'000);
  rig.run();
  EXPECT_LE(mean_w(rig, seconds(10), seconds(120)), 11.1);
  EXPECT_GT(minibatches(rig, Kind::train, seconds(10), seconds(120)), 50U);
  EXPECT_GE(minibatches(rig, Kind::infer, seconds(10), seconds(120)), 110U * 20 / 4 - 1);
}

TEST(Duty, RequestsWaitWhereTheyAloneAreOverTheCap) {
  BothRig rig(9'000);
  rig.run();
  EXPECT_LE(mean_w(rig, seconds(20), seconds(120)), 9.1);
  EXPECT_EQ(minibatches(rig, Kind::train, seconds(20), seconds(120)), 0U);
  EXPECT_GT(minibatches(rig, Kind::infer, seconds(20), seconds(120)), 100U);
  // That they are late then is no reason for more power.
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
}

// Late requests ask for faster clocks, which draw more than the lowest mode that is over the cap.
TEST(Duty, LateRequestsRaiseNoClockWhileTheLowestModeIsOverTheCap) {
  BothRig rig(9'000);
  rig.server->late_ms = 1'000;
  rig.run();
  EXPECT_LE(rig.summary.guard_steps, 2U);
  EXPECT_LE(rig.summary.latency_steps, 2U);
  EXPECT_LE(mean_w(rig, seconds(20), seconds(120)), 9.1);
}

// They are late before the guard has judged the lowest mode, and would ask for the batch of four
// that it makes smaller. A battery's brown-out says no more than that the lowest mode is to be
// held.
TEST(Duty, LateRequestsMakeNoBatchLargerWhileTheLowestModeIsOverTheCap) {
  for (const std::int64_t cap_mw : {kLowestModeMw, std::int64_t{9'000}, std::int64_t{9'900}}) {
    ServingRig rig([](const PolicyContext&, const auto&) { return with_batch(hold(kMiddle), 4); });
    Workload hasty = fakes::server();
    hasty.latency = milliseconds(100);
    rig.world.attach_server(milliseconds(0), 200, hasty);
    rig.world.cap(seconds(60), cap_mw);
    rig.world.at(seconds(66), [&] {
      const bool rests = rig.world.published.phase == Phase::resting;
      EXPECT_EQ(rests, is_power(cap_mw)) << cap_mw;
    });
    rig.run();
    EXPECT_LT(rig.settings_since(seconds(60)).size(), 10U) << cap_mw;
    EXPECT_EQ(reports(rig, "infeasible: the safe"), is_power(cap_mw) ? 1U : 0U) << cap_mw;
    for (const Setting& setting : rig.settings_since(seconds(60))) {
      EXPECT_EQ(setting.mode, kSlow) << cap_mw;
    }
  }
}

// With batches of one request the lowest mode is within the cap.
TEST(Duty, ABatchThatWasOverTheCapIsNotTriedAgainForLateRequests) {
  BothRig rig(10'500);
  rig.world.at(seconds(2), [&] { rig.server->per_s = 80; });
  for (Duration time = seconds(2); time < seconds(120); time += milliseconds(100)) {
    rig.world.at(time, [&] {
      const auto commands = rig.world.commands_to(2);
      const bool large = commands.empty() || commands.back().batch_size > 1;
      rig.hardware.extra_mw = large ? 1'000 : 0;
    });
  }
  rig.server->late_ms = 1'000;
  rig.run();
  EXPECT_LT(rig.settings_since(seconds(60)).size(), 3U);
}

// A server that comes while power is over the cap is not kept waiting by a setting of before.
TEST(Duty, AServerThatComesWhilePowerIsOverTheCapRuns) {
  BothRig rig(11'000);
  rig.world.at(seconds(4), [&rig] {
    for (const WorkloadCommand& command : rig.world.commands_to(2)) {
      EXPECT_TRUE(runs(command.run, Kind::infer));
    }
  });
  rig.run();
}

// Below any board: a limit that knows nothing asks for the lowest mode, and for no more than that.
TEST(Duty, ACapThatOnlyAsksForTheLowestModeLetsTheWorkloadsRun) {
  LowRig rig(then_hold({kFast}, kFast), seconds(60), kLowestModeMw);
  rig.world.attach(seconds(1));
  rig.run();
  EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_GT(minibatches(rig, Kind::train, seconds(50), seconds(60)), 0U);
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
  EXPECT_EQ(reports(rig, "infeasible"), 0U);
  EXPECT_EQ(rig.over_cap_s, 0) << "it is held, as was asked";
}

}  // namespace
}  // namespace gearshift
