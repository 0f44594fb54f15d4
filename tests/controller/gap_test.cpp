// A machine that sleeps, or a process that is stopped, while the loop runs.
#include <gtest/gtest.h>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

Request hold_middle(const PolicyContext&, const std::vector<Observation>&) { return hold(kMiddle); }

double energy_j(Duration slept) {
  Rig rig(hold_middle, seconds(60) + slept);
  rig.world.attach(seconds(1));
  if (slept > Duration{}) rig.world.suspend(seconds(30), slept);
  LimitSource* limits[] = {&rig.limit};
  Controller controller(rig.world, rig.board, rig.policy, rig.recorder, limits, rig.options);
  controller.run();
  return controller.ledger().energy_j();
}

TEST(Gap, IsToldOnceWithItsLength) {
  Rig rig(hold_middle, hours(2), 30'000);
  rig.world.attach(seconds(1));
  rig.world.suspend(seconds(30), hours(1));
  rig.run();
  const auto notes = rig.recorder.of(NoteType::gap);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(Duration(notes[0].value), hours(1) + milliseconds(100));
  EXPECT_EQ(notes[0].time, Time{} + seconds(30) + hours(1));
  EXPECT_EQ(rig.world.published.phase, Phase::holding);
  EXPECT_TRUE(rig.recorder.of(NoteType::power_unknown).empty()) << "it is read anew before";
}

TEST(Gap, IsToldOnceWhereEveryTickIsLate) {
  Rig rig(hold_middle, seconds(120), 30'000);
  rig.world.attach(seconds(1));
  for (int i = 0; i < 5; ++i) rig.world.suspend(seconds(30) + milliseconds(i), seconds(3));
  rig.world.suspend(seconds(80), seconds(3));
  rig.run();
  const auto notes = rig.recorder.of(NoteType::gap);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].time, Time{} + seconds(33));
  EXPECT_EQ(notes[1].time, Time{} + seconds(83));
}

TEST(Gap, ThatIsShortIsNone) {
  Rig rig(hold_middle, seconds(60), 30'000);
  rig.world.attach(seconds(1));
  rig.world.suspend(seconds(30), milliseconds(1800));
  rig.run();
  EXPECT_TRUE(rig.recorder.of(NoteType::gap).empty());
}

// What the guardian set meanwhile is not taken for what the board could do.
TEST(Gap, InMidChangeChangesAnew) {
  const auto fast = [](const PolicyContext&, const std::vector<Observation>&) {
    return hold(kFast);
  };
  for (int i = 0; i < 30; ++i) {
    Rig rig(fast, seconds(60));
    rig.hardware.values = {1, 300000};
    rig.world.attach(seconds(1));
    const Duration stopped = seconds(1) + milliseconds(50 * i);
    rig.world.suspend(stopped, seconds(10));
    rig.world.at(stopped + seconds(1), [&rig] { rig.hardware.values = {1, 300000}; });
    rig.run();
    EXPECT_TRUE(rig.recorder.of(NoteType::knob_failed).empty()) << "stopped at " << 50 * i;
    EXPECT_EQ(rig.hardware.values, (std::vector<std::int64_t>{4, 900000}))
        << "stopped at " << 50 * i;
  }
}

TEST(Gap, CountsNoEnergyThatNobodyRead) {
  const double awake_j = energy_j({});
  EXPECT_NEAR(energy_j(hours(1)), awake_j, 0.02 * awake_j);
}

}  // namespace
}  // namespace gearshift
