#include "simulator/simulated_knobs.h"

#include <gtest/gtest.h>

#include "controller/board.h"
#include "tests/fakes/fake_board.h"

namespace gearshift {
namespace {

using fakes::mode;
using fakes::two_knobs;

// As Board does it: writes what differs, then reads back; once more where that does not fit.
struct Change {
  bool refused = false;
  PowerMode result;
};
Change change(SimulatedKnobs& knobs, const PowerMode& wanted) {
  Change change;
  for (int attempt = 0; attempt < 2 && !change.refused; ++attempt) {
    for (std::size_t i = 0; i < wanted.count; ++i) {
      try {
        while (knobs.write(i, wanted.values[i]) == Progress::more) continue;
      } catch (const KnobError&) {
        change.refused = true;
      }
    }
    for (std::size_t i = 0; i < wanted.count; ++i) knobs.read(i);
    if (knobs.mode() == wanted) break;
  }
  change.result = knobs.mode();
  return change;
}

SimulatedKnobs knobs_with(const Effects& effects, SimulatedKnobs::Exists exists) {
  return {two_knobs(), mode(1, 300000), effects, 1, std::move(exists)};
}
bool everything(const PowerMode&) { return true; }

TEST(SimulatedKnobs, AppliesWhatIsWritten) {
  SimulatedKnobs knobs = knobs_with({}, everything);
  const Change done = change(knobs, mode(4, 900000));
  EXPECT_FALSE(done.refused);
  EXPECT_EQ(done.result, mode(4, 900000));
}

TEST(SimulatedKnobs, CoresGoOneByOneWhereHotplugIsOn) {
  Effects effects;
  effects.hotplug = true;
  SimulatedKnobs knobs = knobs_with(effects, everything);
  EXPECT_EQ(knobs.write(0, 3), Progress::more);
  EXPECT_EQ(knobs.mode().values[0], 2);
  EXPECT_EQ(knobs.write(0, 3), Progress::done);
  EXPECT_EQ(knobs.mode().values[0], 3);
}

TEST(SimulatedKnobs, AMissingModeIsRefusedAndTheModeBeforeIsInForce) {
  SimulatedKnobs knobs =
      knobs_with({}, [](const PowerMode& asked) { return asked != mode(4, 600000); });
  ASSERT_EQ(change(knobs, mode(2, 600000)).result, mode(2, 600000));
  const Change done = change(knobs, mode(4, 600000));
  EXPECT_TRUE(done.refused);
  EXPECT_EQ(done.result, mode(2, 600000));
  EXPECT_EQ(change(knobs, mode(4, 900000)).result, mode(4, 900000));
}

TEST(SimulatedKnobs, AMissingModeOnTheWayToAnotherDoesNoHarm) {
  // Only the corners exist: every single write on the way leads to a mode that does not.
  SimulatedKnobs knobs = knobs_with({}, [](const PowerMode& asked) {
    return asked == mode(1, 300000) || asked == mode(4, 900000);
  });
  const Change done = change(knobs, mode(4, 900000));
  EXPECT_FALSE(done.refused);
  EXPECT_EQ(done.result, mode(4, 900000));
}

TEST(SimulatedKnobs, AModeThatDoesNotApplyKeepsAClockAndSaysSo) {
  Effects effects;
  effects.unapplied_share = 1;
  SimulatedKnobs knobs = knobs_with(effects, everything);
  const Change done = change(knobs, mode(4, 900000));
  EXPECT_FALSE(done.refused);
  EXPECT_EQ(done.result, mode(4, 300000));
  // The mode it began in applies, and so the board can always go back.
  EXPECT_EQ(change(knobs, mode(1, 300000)).result, mode(1, 300000));
}

TEST(SimulatedKnobs, TheShareOfModesThatDoNotApplyIsAsStated) {
  Effects effects;
  effects.unapplied_share = 0.1;
  const SimulatedKnobs knobs = knobs_with(effects, everything);
  int unapplied = 0;
  for (int i = 0; i < 10'000; ++i) unapplied += knobs.unapplied(mode(i, 7 * i)) ? 1 : 0;
  EXPECT_GT(unapplied, 850);
  EXPECT_LT(unapplied, 1150);
}

}  // namespace
}  // namespace gearshift
