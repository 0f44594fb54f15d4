// What the board steps down to is judged, and is nothing that is known to be over the cap.
#include <gtest/gtest.h>

#include "tests/fakes/serving_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

Setting first_since(const ServingRig& rig, Time time) {
  const std::vector<Setting> settings = rig.settings_since(time - Time{});
  EXPECT_FALSE(settings.empty());
  return settings.empty() ? Setting{} : settings.front();
}

// Many more requests come, and with them everything but the lowest mode draws more than the cap.
TEST(StepDown, WhatItTakesIsJudgedBeforeReliefIsSoughtOnTopOfIt) {
  ServingRig rig(best_of(kThree), seconds(60), 25'000);
  Workload soon = fakes::server();
  soon.latency = milliseconds(200);
  rig.hardware.lag_s = 0.7;  // requests are late before power shows
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40, soon);
  rig.world.at(seconds(40), [&] {
    server.per_s = 500;
    rig.hardware.extra_mw = 4'000;
  });
  rig.run();
  const Time first = rig.time_of(NoteType::over_cap);
  ASSERT_GT(first, Time{} + seconds(40));
  std::vector<Time> slow;
  for (const KeptNote& note : rig.recorder.of(NoteType::setting)) {
    if (note.time >= first && note.setting.mode == kSlow) slow.push_back(note.time);
  }
  ASSERT_FALSE(slow.empty());
  EXPECT_LE(slow.front() - first, seconds(2));
  EXPECT_LT(rig.over_cap_s, 4);
}

// It has kept the cap for long, so that this is no observation of it.
TEST(StepDown, IsNotToTheChoiceThatIsOverTheCapJustNow) {
  ServingRig rig(best_of({with_batch(measure(kFast), 4)}), seconds(60), 25'000);
  rig.world.attach_server(milliseconds(0), 40);
  rig.world.at(seconds(50), [&] { rig.hardware.extra_mw = 5'000; });
  rig.run();
  EXPECT_EQ(first_since(rig, rig.time_of(NoteType::over_cap)).mode, kSlow);
}

TEST(StepDown, IsNotToWhatIsKnownToBeOverTheCapWhileTrainingWaits) {
  Request alone = with_batch(measure(kFast), 4);
  alone.setting.run = Run::infer;
  ServingRig rig(best_of({with_batch(measure(kFast), 4), alone}), seconds(60), 20'000);
  rig.hardware.training_mw = -6'000;  // 16 W beside requests, 22 W without
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  rig.world.at(seconds(40), [&] { server.per_s = 500; });
  rig.run();
  ASSERT_EQ(rig.policy.answers.at(1).outcome, Outcome::over_limit);
  for (const Setting& setting : rig.settings_since(seconds(40))) {
    EXPECT_FALSE(setting == alone.setting);
  }
}

TEST(StepDown, WhatWasMeasuredWhileTrainingWaitedIsNotGuessedToDrawLess) {
  Request alone = with_batch(measure(kMiddle), 4);
  alone.setting.run = Run::infer;
  ServingRig rig(best_of({alone}), seconds(60), 40'000);
  rig.world.attach_server(milliseconds(0), 40);
  rig.world.cap(seconds(40), 13'000);  // 17 W were measured
  rig.run();
  EXPECT_EQ(first_since(rig, Time{} + seconds(40)).mode, kSlow);
}

}  // namespace
}  // namespace gearshift
