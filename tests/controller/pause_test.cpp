// A limit that leaves no power makes the workloads wait, and they go on once it leaves some.
#include <gtest/gtest.h>

#include <functional>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {
namespace {

using std::chrono::seconds;

std::size_t trained_between(const Rig& rig, Duration from, Duration to) {
  std::size_t minibatches = 0;
  for (const Event& event : rig.recorder.events) {
    if (event.type != EventType::minibatch || event.minibatch.kind != Kind::train) continue;
    const Duration at = event.minibatch.received - Time{};
    if (at > from && at < to) ++minibatches;
  }
  return minibatches;
}

PowerMode in_force(const Rig& rig) { return mode(rig.hardware.values[0], rig.hardware.values[1]); }

TEST(Pause, ACapOfNothingMakesTheTrainerWaitInTheSafeModeUntilItRises) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(30));
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(10), kNoPowerMw);
  rig.world.cap(seconds(20), 30'000);
  rig.world.at(seconds(19), [&] {
    EXPECT_EQ(in_force(rig), kSlow);
    EXPECT_EQ(rig.world.published.phase, Phase::paused);
    EXPECT_EQ(rig.world.published.cap_mw, kNoPowerMw) << "0 would be no cap";
    EXPECT_EQ(rig.world.published.cap_source.view(), "operator");
    ASSERT_FALSE(rig.world.commands.empty());
    EXPECT_FALSE(runs(rig.world.commands.back().run, Kind::train));
  });
  rig.run();
  EXPECT_EQ(in_force(rig), kFast);
  EXPECT_TRUE(runs(rig.world.commands.back().run, Kind::train));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_EQ(rig.policy.goals.back().power_mw, 30'000);
}

TEST(Pause, ATrainerThatComesMeanwhileWaitsToo) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(20), kNoPowerMw);
  rig.world.attach(seconds(5));
  rig.run();
  ASSERT_FALSE(rig.world.commands.empty());
  EXPECT_FALSE(runs(rig.world.commands.back().run, Kind::train));
  EXPECT_EQ(rig.policy.starts, 0);
  EXPECT_EQ(in_force(rig), kSlow);
}

TEST(Pause, ATrainerThatComesMeanwhileWaitsThoughPowerIsUnknown) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(20), kNoPowerMw);
  rig.world.at(seconds(3), [&] { rig.hardware.reading_state = ReadingState::missing; });
  rig.world.attach(seconds(5));
  rig.run();
  EXPECT_EQ(rig.recorder.of(NoteType::power_unknown).size(), 1U);
  EXPECT_EQ(trained_between(rig, seconds(6), seconds(20)), 0U);
}

// A pause from 10 to 20 s, in which `also` happens: behind it the trainer works in the safe mode.
void expect_work_behind_a_pause(const std::function<void(Rig&)>& also) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(30));
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(10), kNoPowerMw);
  also(rig);
  rig.world.cap(seconds(20), 30'000);
  rig.run();
  EXPECT_EQ(trained_between(rig, seconds(11), seconds(20)), 0U);
  EXPECT_GT(trained_between(rig, seconds(21), seconds(30)), 10U);
  EXPECT_EQ(in_force(rig), kSlow);
}

// The policy is asked once requests come.
TEST(Pause, EndsForATrainerBesideAServerThatNobodyAsks) {
  expect_work_behind_a_pause([](Rig& rig) { rig.world.attach_server(seconds(1), 0); });
}

TEST(Pause, EndsThoughPowerHasBecomeUnknown) {
  expect_work_behind_a_pause([](Rig& rig) {
    rig.world.at(seconds(15), [&] { rig.hardware.reading_state = ReadingState::missing; });
  });
}

// A batch size that is not in force yet may be refused, and the wait with it.
TEST(Pause, LeavesTheBatchSizeThatIsInForce) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return measure(kFast, 32); },
          seconds(20));
  rig.world.answers_after = seconds(4);
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(3), kNoPowerMw);
  rig.run();
  ASSERT_GE(rig.world.commands.size(), 2U);
  EXPECT_EQ(rig.world.commands.front().batch_size, 32);
  EXPECT_EQ(rig.world.commands.back().batch_size, 16);
  EXPECT_EQ(rig.world.commands.back().run, Run::infer);
}

// Nothing draws less than the safe mode without work: it is no breach that could be cured.
TEST(Pause, IsNoBreachOfTheCap) {
  Rig rig([](const PolicyContext&, const std::vector<Observation>&) { return hold(kFast); },
          seconds(20));
  rig.world.attach(seconds(1));
  rig.world.cap(seconds(10), kNoPowerMw);
  rig.run();
  EXPECT_TRUE(rig.recorder.of(NoteType::over_cap).empty());
}

}  // namespace
}  // namespace gearshift::fakes
