// What explain says is held, where the board has left the policy's choice by itself.
#include <gtest/gtest.h>

#include "controller/rationale.h"
#include "tests/fakes/low_rig.h"

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
  expect_lowest(told(), "operator leaves power for the lowest mode at most");
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

}  // namespace
}  // namespace gearshift
