#include "controller/step_pace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(StepPace, IsSpentByTheLastThatAMinuteMayHold) {
  StepPace pace;
  for (std::size_t i = 0; i + 1 < StepPace::kMost; ++i) pace.add(Time{} + seconds(i));
  EXPECT_FALSE(pace.spent(Time{} + seconds(19)));
  pace.add(Time{} + seconds(19));
  EXPECT_TRUE(pace.spent(Time{} + seconds(19)));
  EXPECT_TRUE(pace.spent(Time{} + seconds(60) - nanoseconds(1)));
  EXPECT_FALSE(pace.spent(Time{} + seconds(60))) << "the first is a minute old";
  pace.add(Time{} + seconds(60));
  EXPECT_TRUE(pace.spent(Time{} + seconds(60)));
  EXPECT_FALSE(pace.spent(Time{} + seconds(61)));
}

// By 10 mW: the ration of energy would let it go on for hours.
TEST(StepPace, BoundsHowOftenAScriptThatInsistsMovesTheModes) {
  const auto next = [](const PolicyContext&, const std::vector<Observation>& answers) {
    return measure(mode(4, 900000 + static_cast<std::int64_t>(answers.size()) % 500));
  };
  Rig rig(next, std::chrono::minutes(10), 21'990);
  std::vector<std::int64_t>& clocks = rig.hardware.space.knobs[1].values;
  clocks = {300000};
  for (int i = 0; i < 500; ++i) clocks.push_back(900000 + i);
  rig.hardware.values = {1, 300000};
  rig.world.attach(seconds(1));
  rig.run();
  std::vector<Time> moves;
  for (const KeptNote& note : rig.recorder.of(NoteType::setting)) moves.push_back(note.time);
  std::size_t most = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    std::size_t within = 0;
    while (i + within < moves.size() && moves[i + within] - moves[i] < seconds(60)) ++within;
    most = std::max(most, within);
  }
  EXPECT_LE(most, 2 * StepPace::kMost + 1);
  EXPECT_GE(most, 2 * StepPace::kMost - 1) << "the script is let to insist as far as that";
  EXPECT_EQ(rig.summary.policy_errors, 0U);
}

}  // namespace
}  // namespace gearshift
