// A limit that leaves no power makes the workloads wait, and they go on once it leaves some.
#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift::fakes {
namespace {

using std::chrono::seconds;

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
