// A mode that waits for the smaller batches that were asked for with it, and what ends that.
#include <gtest/gtest.h>

#include "tests/fakes/low_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::seconds;

// Large batches in the lowest mode, then small ones in the highest, which wait for the loader.
struct ModeWaits : testing::Test {
  ModeWaits() {
    rig.hardware.sample_mw = 500;  // 26 W of 8 samples in the highest mode, 38 W of 32
    rig.world.attach(seconds(1));
  }
  Request next(std::size_t answers) {
    if (answers == 0) return measure(kSlow, 32);
    if (answers == 1) asks_for_less();
    return answers == 1 ? measure(kFast, 8) : hold(kFast, 8);
  }
  void expect_no_large_batch_in_the_highest_mode() {
    EXPECT_TRUE(rig.recorder.of(NoteType::over_cap).empty());
    for (const KeptNote& note : rig.recorder.of(NoteType::observation)) {
      EXPECT_NE(note.observation->outcome, Outcome::over_limit);
    }
  }
  std::function<void()> asks_for_less;
  LowRig rig{[this](const PolicyContext&, const std::vector<Observation>& answers) {
               return next(answers.size());
             },
             seconds(60), 30'000};
};

TEST_F(ModeWaits, DoesNotBeginWhereItsMeasurementIsCut) {
  asks_for_less = [this] {
    rig.world.answers_after = seconds(6);
    rig.world.cap(rig.world.now() - Time{} + seconds(2), 31'000);
  };
  rig.run();
  expect_no_large_batch_in_the_highest_mode();
  EXPECT_EQ(rig.recorder.of(NoteType::hold).back().setting.mode, kFast);
}

TEST_F(ModeWaits, DoesNotBeginWhereItsBatchesAreRefused) {
  asks_for_less = [this] { rig.world.refuse_commands = true; };
  rig.run();
  ASSERT_GE(rig.policy.answers.size(), 2U);
  EXPECT_EQ(rig.policy.answers[1].outcome, Outcome::refused);
  EXPECT_EQ(rig.policy.answers[1].setting.mode, kFast);
  expect_no_large_batch_in_the_highest_mode();
}

}  // namespace
}  // namespace gearshift
