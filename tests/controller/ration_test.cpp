// What is tried again and again over the cap: how often, and what is told of it.
#include "controller/ration.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/fakes/rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kEnergy = "it has drawn its share of the energy above the cap";
constexpr std::string_view kSteps = "the guard has stepped down as often as it may in a minute";

TEST(Ration, IsAskedBeforeATryAndSaysWhyItMustWaitUntilItIsAskedAgain) {
  Ration ration;
  ration.add(Time{}, 20'000, 0);
  EXPECT_EQ(ration.ask(Time{}), "");
  EXPECT_FALSE(ration.waits());
  ration.add(Time{} + seconds(1), 30'000, 10'000);
  EXPECT_FALSE(ration.waits()) << "nobody has asked";
  EXPECT_EQ(ration.ask(Time{} + seconds(1)), "") << "0.2 % of 20 W and five minutes were 12 J";
  ration.add(Time{} + seconds(2), 30'000, 10'000);
  EXPECT_EQ(ration.ask(Time{} + seconds(2)), kEnergy);
  EXPECT_TRUE(ration.waits());
  ration.add(Time{} + seconds(500), 20'000, 0);
  EXPECT_TRUE(ration.waits());
  EXPECT_EQ(ration.ask(Time{} + seconds(500)), "");
  EXPECT_FALSE(ration.waits());
}

TEST(Ration, CountsEveryStepDownHoweverLittleItDrew) {
  Ration ration;
  ration.add(Time{}, 20'000, 0);
  for (int i = 0; i < 10; ++i) {
    ration.cut_probe(Time{} + seconds(i));
    ration.step_down(Time{} + seconds(i));
  }
  EXPECT_EQ(ration.ask(Time{} + seconds(10)), kSteps);
  EXPECT_EQ(ration.ask(Time{} + StepPace::kSpan), "");
}

TEST(Ration, ChargesAProbeOnceForWhatNoReadingShowed) {
  Ration ration;
  ration.add(Time{}, 20'000, 0);
  ration.charge_probe(20'000, seconds(10));
  EXPECT_EQ(ration.ask(Time{}), "") << "nothing was probed";
  ration.cut_probe(Time{});
  EXPECT_TRUE(ration.probe_is_over());
  ration.charge_probe(10'000, seconds(1));
  EXPECT_FALSE(ration.probe_is_over());
  ration.charge_probe(10'000, seconds(1));
  EXPECT_EQ(ration.ask(Time{}), "") << "10 of 12 J";
  ration.cut_probe(Time{});
  ration.charge_probe(10'000, seconds(1));
  EXPECT_EQ(ration.ask(Time{}), kEnergy);
}

TEST(Ration, AProbeIsOverTheCapUntilPowerIsBackOrSomethingElseIsCut) {
  Ration ration;
  ration.cut_probe(Time{});
  ration.end_probe();
  EXPECT_FALSE(ration.probe_is_over());
  ration.cut_probe(Time{});
  ration.step_down(Time{});
  EXPECT_FALSE(ration.probe_is_over());
}

// Every mode draws 1 % more than the lowest one, which is as much below the cap: soon after a
// change the mode before may be to blame. Each time.
TEST(Ration, AChoiceCutForWhatMayBeTheModeBeforeIsNotTriedWithoutEnd) {
  Rig rig([](const PolicyContext&, const auto&) { return hold(mode(4, 300000), 32); }, seconds(90),
          10'020);
  rig.hardware.values = {1, 300000};
  rig.world.answers_after = seconds(1);
  rig.world.attach(seconds(1));
  for (int tick = 0; tick < 9000; ++tick) {
    rig.world.at(milliseconds(10) * tick, [&hardware = rig.hardware] {
      hardware.extra_mw = 0;
      if (hardware.values[0] > 1) hardware.extra_mw = 10'150 - hardware.power_mw();
    });
  }
  rig.run();
  const std::size_t steps = rig.recorder.of(NoteType::over_cap).size();
  EXPECT_GE(steps, 2U) << "once it is excused";
  EXPECT_LE(steps, 3U);
  EXPECT_EQ(rig.world.published.phase, Phase::safe);
}

TEST(Ration, ASearchThatSavesUpUnderAnInfeasibleCapIsNotSaidToWaitForIt) {
  // All but the lowest mode, the highest first.
  Rig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        const auto i = static_cast<std::int64_t>(answers.size() % 9);
        const std::int32_t batch_size = answers.size() < 9 ? 32 : answers.size() < 18 ? 16 : 8;
        return measure(mode(4 - i / 3, 900'000 - 300'000 * (i % 3)), batch_size);
      },
      seconds(60), 10'500);
  rig.world.attach(seconds(1));
  std::vector<Phase> phases;
  for (const int second : {29, 59}) {
    rig.world.at(seconds(second), [&] { phases.push_back(rig.world.published.phase); });
  }
  rig.world.cap(seconds(30), 8'000);  // the lowest mode draws 10 W
  rig.run();
  EXPECT_EQ(phases, (std::vector<Phase>{Phase::rationed, Phase::resting}));
  EXPECT_FALSE(rig.recorder.of(NoteType::rationed).empty());
  for (const KeptNote& note : rig.recorder.of(NoteType::over_cap)) {
    EXPECT_EQ(note.text.find("the search waits"), std::string::npos) << "that is no breach";
  }
}

}  // namespace
}  // namespace gearshift
