#include "controller/interleaving.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using namespace std::chrono_literals;  // NOLINT: times are the vocabulary of these tests
using std::chrono::nanoseconds;

// Requests within 1 s, planned within 0.9 s; minibatches of 0.2 s and 0.1 s.
InterleavingState busy(std::uint32_t queued, nanoseconds oldest_wait) {
  InterleavingState state;
  state.queued = queued;
  state.oldest_wait = oldest_wait;
  state.batch_size = 4;
  state.latency = 1s;
  state.train_minibatch = 200ms;
  state.infer_minibatch = 100ms;
  return state;
}

TEST(Interleaving, TrainsWhereNothingWaits) {
  EXPECT_EQ(next_turn(busy(0, 0ns)).turn, Turn::train);
}

TEST(Interleaving, InfersAtAFullBatchAndNotBefore) {
  EXPECT_EQ(next_turn(busy(3, 0ns)).turn, Turn::train);
  EXPECT_EQ(next_turn(busy(4, 0ns)).turn, Turn::infer);
  EXPECT_EQ(next_turn(busy(400, 0ns)).turn, Turn::infer);
}

TEST(Interleaving, InfersWhenOneMoreTrainingMinibatchWouldMakeTheOldestLate) {
  EXPECT_EQ(next_turn(busy(1, 600ms)).turn, Turn::train);
  EXPECT_EQ(next_turn(busy(1, 600ms + 1ns)).turn, Turn::infer);
}

TEST(Interleaving, TrainsBesideRequestsOnlyWhereOneThatComesNowIsStillInTime) {
  InterleavingState state = busy(0, 0ns);
  state.train_minibatch = 800ms;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.train_minibatch += 1ns;
  const TurnChoice choice = next_turn(state);
  EXPECT_EQ(choice.turn, Turn::wait);
  EXPECT_EQ(choice.longest_wait, 1s);
}

TEST(Interleaving, TrainsAgainAfterASilenceWhereTrainingMakesRequestsLate) {
  InterleavingState state = busy(0, 0ns);
  state.train_minibatch = 900ms;
  state.since_arrival = 1s - 1ns;
  EXPECT_EQ(next_turn(state).turn, Turn::wait);
  EXPECT_EQ(next_turn(state).longest_wait, 1ns);
  state.since_arrival = 1s;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.since_arrival = nanoseconds::max();
  EXPECT_EQ(next_turn(state).turn, Turn::train);
}

TEST(Interleaving, RemembersArrivalsForTheLatencyWhereItIsLonger) {
  InterleavingState state = busy(0, 0ns);
  state.latency = 2s;
  state.train_minibatch = 2s;
  state.since_arrival = 2s - 1ns;
  EXPECT_EQ(next_turn(state).turn, Turn::wait);
  state.since_arrival = 2s;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
}

TEST(Interleaving, LetsABatchFillUntilItsLatestStartWhereTrainingCannotRun) {
  for (const bool paused : {true, false}) {
    InterleavingState state = busy(1, 300ms);
    if (paused) {
      state.trains = false;
    } else {
      state.train_minibatch = 900ms;
    }
    const TurnChoice choice = next_turn(state);
    EXPECT_EQ(choice.turn, Turn::wait);
    EXPECT_EQ(choice.longest_wait, 500ms + 1ns);
    state.oldest_wait += choice.longest_wait;
    EXPECT_EQ(next_turn(state).turn, Turn::infer);
  }
}

TEST(Interleaving, WaitsForARequestWhereTrainingIsPaused) {
  InterleavingState state = busy(0, 0ns);
  state.trains = false;
  const TurnChoice choice = next_turn(state);
  EXPECT_EQ(choice.turn, Turn::wait);
  EXPECT_EQ(choice.longest_wait, nanoseconds::max());
}

TEST(Interleaving, NeverInfersWhereInferenceIsPaused) {
  InterleavingState state = busy(400, 10s);
  state.infers = false;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.trains = false;
  EXPECT_EQ(next_turn(state).turn, Turn::wait);
  EXPECT_EQ(next_turn(state).longest_wait, nanoseconds::max());
}

TEST(Interleaving, WithoutALimitABatchWaitsASecondAtMost) {
  InterleavingState state = busy(1, 800ms);
  state.latency = 0ns;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.oldest_wait += 1ns;
  EXPECT_EQ(next_turn(state).turn, Turn::infer);
  EXPECT_TRUE(admits(state, 1h));
  EXPECT_TRUE(serves(state, 1h));
}

TEST(Interleaving, TakesABatchSizeThatIsNoneForOne) {
  InterleavingState state = busy(1, 0ns);
  state.batch_size = 0;
  EXPECT_EQ(next_turn(state).turn, Turn::infer);
  EXPECT_TRUE(admits(state, 0ns));
}

// 40 before it are ten minibatches, so that its own ends after 1.1 s.
TEST(Interleaving, RefusesWhatThoseBeforeItMakeLate) {
  InterleavingState state = busy(39, 0ns);
  EXPECT_TRUE(admits(state, 0ns));
  EXPECT_FALSE(admits(state, 1ns));
  state.queued = 40;
  EXPECT_FALSE(admits(state, 0ns));
}

TEST(Interleaving, DropsWhatIsLateAlthoughItsMinibatchBegins) {
  const InterleavingState state = busy(1, 900ms);
  EXPECT_TRUE(serves(state, 900ms));
  EXPECT_FALSE(serves(state, 900ms + 1ns));
}

}  // namespace
}  // namespace gearshift
