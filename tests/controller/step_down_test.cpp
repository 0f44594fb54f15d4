// What the board steps down to is nothing that is known to be over the cap.
// tests/process/test_step_down.py shows that it is judged before relief.
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

// Nor is it where training is to wait for requests that are late.
TEST(StepDown, ReliefInASettingThatIsKnownToBeOverTheCapBeginsInTheLowestMode) {
  Request alone = with_batch(measure(kFast), 4);
  alone.setting.run = Run::infer;
  ServingRig rig(best_of({with_batch(measure(kFast), 4), alone}), seconds(60), 20'000);
  rig.hardware.training_mw = -6'000;
  FakeServer& server = rig.world.attach_server(milliseconds(0), 40);
  rig.world.at(seconds(40), [&] { server.late_ms = 400; });
  rig.run();
  ASSERT_EQ(rig.policy.answers.at(1).outcome, Outcome::over_limit);
  const Setting first = first_since(rig, Time{} + seconds(40));
  EXPECT_EQ(first.mode, kSlow);
  EXPECT_EQ(first.run, Run::infer);
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
