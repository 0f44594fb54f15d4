// Workloads whose minibatches take long: they are measured like others.
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/low_rig.h"

namespace gearshift {
namespace {

using namespace fakes;  // NOLINT: the fakes are the vocabulary of these tests
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// A minibatch of 16 takes 20 s in kFast, 34 s in kMiddle and 150 s in kSlow.
constexpr double kSlower = 500;

TEST(SlowWorkload, IsMeasuredInEachMode) {
  for (const auto& modes :
       {std::vector{kSlow, kMiddle, kFast}, std::vector{kFast, kMiddle, kSlow}}) {
    Rig rig(then_hold(modes, kFast), hours(3));
    rig.world.slower = kSlower;
    rig.world.attach(seconds(1));
    rig.run();
    ASSERT_EQ(rig.policy.answers.size(), 3U);
    for (const Observation& answer : rig.policy.answers) {
      EXPECT_TRUE(answer.ok()) << outcome_name(answer.outcome);
      EXPECT_GE(answer.cost[0].minibatches, 3U);
      // One may have begun in the mode before.
      EXPECT_LE(answer.duration, seconds(160) + 6 * answer.cost[0].minibatch_mean);
    }
  }
}

ListPolicy::Decide with_larger_batches() {
  return [](const PolicyContext&, const std::vector<Observation>& answers) {
    return answers.empty() ? measure(kFast, 32) : hold(kFast, 32);
  };
}

TEST(SlowWorkload, FollowsOnceTheBatchesThatWereFetchedAreUsedUp) {
  Rig rig(with_larger_batches(), hours(1));
  rig.world.slower = kSlower;
  rig.world.answers_after = seconds(100);  // five minibatches
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_TRUE(rig.policy.answers[0].ok()) << outcome_name(rig.policy.answers[0].outcome);
}

TEST(SlowWorkload, IsGivenUpOnWhereItGoesOnAndNeverFollows) {
  Rig rig(with_larger_batches(), hours(1));
  rig.world.slower = kSlower;
  rig.world.silent = true;
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  const auto observations = rig.recorder.of(NoteType::observation);
  ASSERT_EQ(observations.size(), 1U);
  EXPECT_EQ(observations[0].observation->outcome, Outcome::timed_out);
  EXPECT_GT(rig.time_of(NoteType::observation), Time{} + seconds(100));
  EXPECT_LT(rig.time_of(NoteType::observation), Time{} + minutes(6));
}

TEST(SlowWorkload, IsGivenUpOnWhereItStalls) {
  Rig rig(with_larger_batches(), hours(1));
  rig.world.stalled = rig.world.silent = true;
  rig.world.attach(seconds(1));
  rig.run();
  ASSERT_EQ(rig.policy.answers.size(), 1U);
  EXPECT_EQ(rig.policy.answers[0].outcome, Outcome::timed_out);
  EXPECT_LT(rig.time_of(NoteType::observation), Time{} + seconds(62));
}

}  // namespace
}  // namespace gearshift
