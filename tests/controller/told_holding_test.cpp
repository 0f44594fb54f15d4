// What explain says is held, where the board has left the policy's choice by itself.
#include <gtest/gtest.h>

#include "controller/rationale.h"
#include "tests/fakes/low_rig.h"
#include "tests/fakes/told.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

// Holds the middle mode before `change`, and is told of until the end of the run.
class ToldHolding : public testing::Test {
 protected:
  ToldHolding()
      : rig_([](const PolicyContext&, const auto&) { return hold(kMiddle); }, seconds(60), 30'000) {
    rig_.world.attach(seconds(1));
  }
  Rationale::Held told() {
    rig_.run();
    Rationale rationale;
    rationale.know_safe(rig_.board.safe());
    bool chosen = false;
    for (const KeptNote& kept : rig_.recorder.notes) {
      rationale.note(
          {.type = kept.type, .time = kept.time, .setting = &kept.setting, .text = kept.text});
      chosen = chosen || rationale.held.holding == Holding::choice;
    }
    EXPECT_TRUE(chosen) << "before the change";
    return rationale.held;
  }
  void expect_lowest(const Rationale::Held& held, std::string_view why) const {
    EXPECT_EQ(held.holding, Holding::safe);
    EXPECT_EQ(held.setting, rig_.world.published.setting);
    EXPECT_EQ(held.setting.mode, kSlow);
    EXPECT_EQ(held.why, why);
  }

  LowRig rig_;
};

TEST_F(ToldHolding, IsTheLowestModeUnderACapBelowIt) {
  rig_.world.cap(seconds(30), 9'000);
  expect_lowest(told(), "the lowest mode draws 10.0 W, over the cap of 9.0 W (operator)");
}

TEST_F(ToldHolding, IsTheLowestModeWhereALimitAsksForThatAlone) {
  rig_.world.cap(seconds(30), kLowestModeMw);
  expect_lowest(told(), "operator leaves power for the lowest mode at most");
}

TEST_F(ToldHolding, IsTheLowestModeWhileNoWorkloadRuns) {
  rig_.world.detach(seconds(30));
  expect_lowest(told(), "no workload runs");
}

TEST_F(ToldHolding, IsTheLowestModeWhilePowerIsUnknown) {
  rig_.world.at(seconds(30), [this] { rig_.hardware.frozen = true; });
  expect_lowest(told(), "stale power reading");
}

TEST_F(ToldHolding, IsTheChoiceAgainOnceItIsBack) {
  rig_.world.cap(seconds(30), 9'000);
  rig_.world.cap(seconds(40), 30'000);
  EXPECT_EQ(told().holding, Holding::choice);
}

TEST_F(ToldHolding, IsTheLowestModeInAPauseThatATrainerComesBackTo) {
  rig_.world.cap(seconds(20), kNoPowerMw);
  rig_.world.detach(seconds(30));
  rig_.world.attach(seconds(40));
  expect_lowest(told(), "the workloads wait: operator leaves no power for them");
  EXPECT_EQ(rig_.world.published.phase, Phase::paused);
}

TEST_F(ToldHolding, IsTheLowestModeInAPauseThatBeganWhileNoWorkloadRan) {
  rig_.world.detach(seconds(20));
  rig_.world.cap(seconds(30), kNoPowerMw);
  rig_.world.attach(seconds(40));
  expect_lowest(told(), "the workloads wait: operator leaves no power for them");
}

// What `rig` holds at its end, as its notes tell it.
Rationale::Held told_by(LowRig& rig) {
  rig.world.attach(seconds(1));
  rig.run();
  Rationale rationale;
  rationale.know_safe(rig.board.safe());
  tell(rationale, rig.recorder.notes);
  EXPECT_EQ(rationale.held.setting, rig.world.published.setting);
  return rationale.held;
}

TEST(ToldStandIn, OfAChoiceThatIsKnownNotToFitIsTheBestThatDoes) {
  LowRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        return answers.empty() ? measure(kMiddle) : hold(kFast);
      },
      seconds(60), 20'000);
  const Rationale::Held held = told_by(rig);
  EXPECT_EQ(held.holding, Holding::fallback);
  EXPECT_EQ(held.setting.mode, kMiddle);
  EXPECT_EQ(held.why, "the policy's choice is known not to fit the cap");
  ASSERT_EQ(rig.summary.choices.size(), 1U);
  const Choice& choice = rig.summary.choices[0];
  EXPECT_EQ(choice.setting.mode, kFast);
  ASSERT_TRUE(choice.observation);
  EXPECT_EQ(choice.observation->outcome, Outcome::over_limit);
  ASSERT_TRUE(choice.held_instead);
  EXPECT_EQ(choice.held_instead->mode, kMiddle);
}

TEST(ToldStandIn, IsInTheSummaryFromTheCutOn) {
  LowRig rig(
      [](const PolicyContext&, const std::vector<Observation>& answers) {
        return answers.empty() ? measure(kMiddle) : hold(kFast);
      },
      seconds(60), 20'000);
  rig.world.at(seconds(2), [&rig] { rig.hardware.extra_mw = -5'000; });
  rig.world.at(seconds(58), [&rig] { rig.hardware.extra_mw = 0; });
  const Rationale::Held held = told_by(rig);
  EXPECT_NE(held.holding, Holding::choice) << "it was over the cap";
  ASSERT_EQ(rig.summary.choices.size(), 1U);
  EXPECT_EQ(rig.summary.choices[0].observation->outcome, Outcome::over_limit);
  EXPECT_EQ(rig.summary.choices[0].held_instead, held.setting);
}

// All but the lowest mode under a cap that hardly leaves more, the highest first.
Request ask_over_the_cap(const PolicyContext&, const std::vector<Observation>& answers) {
  const auto i = static_cast<std::int64_t>(answers.size() % 9);
  return measure(mode(4 - i / 3, 900'000 - 300'000 * (i % 3)), answers.size() < 9    ? 32
                                                               : answers.size() < 18 ? 16
                                                                                     : 8);
}

TEST(ToldStandIn, OfASearchThatWaitsIsWhatIsInForce) {
  LowRig rig(ask_over_the_cap, seconds(29), 10'500);
  const Rationale::Held held = told_by(rig);
  EXPECT_EQ(rig.world.published.phase, Phase::rationed);
  EXPECT_EQ(held.holding, Holding::safe);
  EXPECT_EQ(held.setting.mode, kSlow);
  EXPECT_EQ(held.why.find("the search waits: "), 0U) << held.why;
}

TEST(ToldStandIn, OfASearchThatWaitsIsToldAnewToATrainerThatComesBack) {
  LowRig rig(ask_over_the_cap, seconds(29), 10'500);
  rig.world.detach(seconds(26));
  rig.world.attach(seconds(27));
  const Rationale::Held held = told_by(rig);
  EXPECT_EQ(rig.world.published.phase, Phase::rationed);
  EXPECT_EQ(held.holding, Holding::safe);
  EXPECT_EQ(held.why.find("the search waits: "), 0U) << held.why;
}

}  // namespace
}  // namespace gearshift
