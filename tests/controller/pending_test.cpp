// A search goes on while requests are late where nothing is known to serve them: it may find what
// does.
#include <gtest/gtest.h>

#include <vector>

#include "controller/controller.h"
#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

// Of a batch size that relief does not take.
Request alone(const PowerMode& mode) {
  Request request = with_batch(measure(mode), 4);
  request.setting.run = Run::infer;
  return request;
}

// Measures these, and then finds nothing.
ListPolicy::Decide in_turn(const std::vector<Request>& asked) {
  return [asked](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.size() < asked.size() ? asked[answers.size()] : Request{};
  };
}

// By power; under a cap relief takes some seconds until it comes to the last one.
const std::vector<PowerMode> kModesByPower = {kSlow,           mode(2, 300000), mode(3, 300000),
                                              mode(4, 300000), mode(1, 600000), mode(2, 600000),
                                              kMiddle,         mode(4, 600000), kFast};

constexpr std::int64_t kAnyFits = 100'000;

// 600 requests a second: no mode serves them, and 300 only the fastest.
struct Flooded : ServingRig {
  explicit Flooded(const std::vector<Request>& asked, std::optional<std::int64_t> cap_mw = {},
                   double per_s = 600)
      : ServingRig(in_turn(asked), seconds(30), cap_mw, kModesByPower),
        server(world.attach_server(milliseconds(0), per_s)) {
    hardware.values = {1, 300000};
  }
  // When the policy's setting was first in force; the end of time: never.
  Time first(const PowerMode& mode, Run run) const {
    for (const KeptNote& note : recorder.of(NoteType::setting)) {
      const bool asked = note.setting.batch_size[index(Kind::infer)] == 4;
      if (asked && note.setting.mode == mode && note.setting.run == run) return note.time;
    }
    return Time::max();
  }
  Time late(std::size_t number) const {
    std::size_t seen = 0;
    for (const KeptNote& note : recorder.of(NoteType::observation)) {
      if (note.observation->outcome != Outcome::late) continue;
      if (++seen == number) return note.time;
    }
    return Time::max();
  }

  FakeServer& server;
};

TEST(Pending, ASearchForWhatServesAloneGoesOnAtOnce) {
  Flooded rig({alone(kSlow), alone(kMiddle)});
  rig.run();
  ASSERT_LT(rig.late(1), Time{} + seconds(10));
  EXPECT_EQ(rig.first(kMiddle, Run::infer), rig.late(1)) << "with no step of relief between";
}

TEST(Pending, WhatQueuedUpBeforeIsNotBlamedOnTheNextSetting) {
  Flooded rig({alone(kSlow), alone(kMiddle)});
  rig.run();
  const Duration limit = fakes::server().latency;
  EXPECT_GE(rig.late(2) - rig.late(1), limit + milliseconds(500)) << "a report behind the limit";
  EXPECT_LT(rig.late(2) - rig.late(1), limit + milliseconds(1500));
}

TEST(Pending, RequestsThatNothingServesKeepASearchWaitingForThreeSeconds) {
  Flooded rig({with_batch(measure(kSlow), 4), alone(kMiddle)}, kAnyFits);
  rig.run();
  const Duration waited = rig.first(kMiddle, Run::infer) - rig.late(1);
  EXPECT_GE(waited, seconds(3));
  EXPECT_LT(waited, milliseconds(3200));
}

TEST(Pending, WhatTrainsBesideThemWaitsUntilTheyAreInTime) {
  Flooded rig({with_batch(measure(kSlow), 4), with_batch(measure(kMiddle), 4)}, kAnyFits, 300);
  rig.run();
  const Duration waited = rig.first(kMiddle, Run::both) - rig.late(1);
  EXPECT_GT(waited, seconds(3));
  EXPECT_LT(waited, seconds(10));
}

// Else it would begin a minibatch that takes seconds, while requests wait.
TEST(Pending, AfterACutOfWhatServesAloneTheTrainerGoesOnWaiting) {
  Flooded rig({alone(kSlow), alone(kFast)}, 15'000);
  rig.run();
  const Time cut = rig.time_of(NoteType::over_cap);
  ASSERT_LT(cut, Time{} + seconds(10));
  for (const KeptNote& note : rig.recorder.of(NoteType::setting)) {
    if (note.time != cut) continue;
    EXPECT_EQ(note.setting.mode, kSlow);
    EXPECT_EQ(note.setting.run, Run::infer);
  }
}

// The rest of a minibatch would be taken for what requests draw.
TEST(Pending, AModeForRequestsAloneWaitsUntilTheTrainerDoes) {
  Flooded rig({alone(kFast)});
  rig.world.answers_after = seconds(4);
  std::vector<std::int64_t> before, after;
  rig.world.at(milliseconds(4500), [&] { before = rig.hardware.values; });
  rig.world.at(milliseconds(5200), [&] { after = rig.hardware.values; });
  rig.run();
  const Time asked = rig.first(kFast, Run::infer);
  ASSERT_GT(asked, Time{} + milliseconds(100));
  ASSERT_LT(asked, Time{} + seconds(2));
  EXPECT_EQ(before, (std::vector<std::int64_t>{1, 300000}));
  EXPECT_EQ(after, (std::vector<std::int64_t>{4, 900000}));
}

// In the lowest mode that minibatch may take half a minute.
TEST(Pending, AModeForRequestsAloneWaitsForNoTrainerThatKeepsThemAllOut) {
  Flooded rig({alone(kFast)});
  rig.world.answers_after = seconds(6);
  rig.server.late_ms = 1000;
  std::vector<std::int64_t> after;
  rig.world.at(milliseconds(3500), [&] { after = rig.hardware.values; });
  rig.run();
  ASSERT_LT(rig.first(kFast, Run::infer), Time{} + seconds(2));
  EXPECT_EQ(after, (std::vector<std::int64_t>{4, 900000}));
}

// 26 W with the minibatch under way, 22 W without.
TEST(Pending, WhatTheTrainersLastMinibatchDrawsIsNotHeldAgainstRequestsAlone) {
  Flooded rig({alone(kFast), alone(kFast)}, 24'000, 60);
  rig.hardware.training_mw = 4000;
  rig.world.answers_after = seconds(3);
  rig.server.late_ms = 1000;
  rig.world.at(milliseconds(3500), [&] { rig.server.late_ms = 0; });
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 2U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::over_limit);
  EXPECT_TRUE(rig.policy.answers[1].ok()) << static_cast<int>(rig.policy.answers[1].outcome);
}

}  // namespace
}  // namespace gearshift
