#include "controller/interleaving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <string>

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

TEST(Interleaving, TrainsWhereEvenARequestAloneWouldBeLate) {
  InterleavingState state = busy(0, 0ns);
  state.infer_minibatch = 1s;
  EXPECT_EQ(next_turn(state).turn, Turn::wait) << "it is answered if nothing runs when it comes";
  state.infer_minibatch += 1ns;
  EXPECT_FALSE(admits(state, 0ns));
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.trains = false;
  EXPECT_EQ(next_turn(state).turn, Turn::wait);
  state.trains = true;
  state.queued = 1;  // when less was known
  EXPECT_EQ(next_turn(state).turn, Turn::infer);
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

TEST(Interleaving, BeginsABatchSoonerWhereWaitsEndLateByATenthAtMost) {
  InterleavingState state = busy(1, 300ms);
  state.trains = false;
  state.oversleeps = 30ms;
  EXPECT_EQ(next_turn(state).longest_wait, 470ms + 1ns);
  state.oversleeps = 300ms;
  EXPECT_EQ(next_turn(state).longest_wait, 400ms + 1ns);
  state = busy(1, 600ms);
  state.oversleeps = 300ms;
  EXPECT_EQ(next_turn(state).turn, Turn::train) << "nothing waits for a time then";
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

TEST(Interleaving, WithoutALimitABatchWaitsOnlyForASizeThatWasChosenWhereNothingTrains) {
  InterleavingState state = busy(1, 0ns);
  state.latency = 0ns;
  state.size_is_chosen = false;
  EXPECT_EQ(next_turn(state).turn, Turn::train);
  state.trains = false;
  EXPECT_EQ(next_turn(state).turn, Turn::infer);
  state.size_is_chosen = true;
  EXPECT_EQ(next_turn(state).turn, Turn::wait);
  EXPECT_EQ(next_turn(state).longest_wait, 1s + 1ns);
}

TEST(Interleaving, TakesABatchSizeThatIsNoneForOne) {
  InterleavingState state = busy(1, 0ns);
  state.batch_size = 0;
  EXPECT_EQ(next_turn(state).turn, Turn::infer);
  EXPECT_TRUE(admits(state, 0ns));
}

// 40 before it are ten minibatches, so that its own ends after 1.1 s.
// The mean size of the batches that next_turn() serves of requests by chance.
double mean_batch(const InterleavingState& times, double requests_per_s) {
  std::mt19937_64 random(1);
  const auto next_gap = [&] {
    const double chance = (static_cast<double>(random() >> 11U) + 1) * 0x1p-53;  // above 0
    return nanoseconds(std::llround(-1e9 * std::log(chance) / requests_per_s));
  };
  std::deque<nanoseconds> queue;
  nanoseconds now = 0ns;
  nanoseconds arrives = next_gap();
  double served = 0;
  int batches = 0;
  while (batches < 2000) {
    for (; arrives <= now; arrives += next_gap()) queue.push_back(arrives);
    InterleavingState state = times;
    state.queued = static_cast<std::uint32_t>(queue.size());
    state.oldest_wait = queue.empty() ? 0ns : now - queue.front();
    const TurnChoice choice = next_turn(state);
    if (choice.turn == Turn::wait) {
      now = std::min(arrives, now + choice.longest_wait);
      continue;
    }
    if (choice.turn == Turn::train) {
      now += times.train_minibatch;
      continue;
    }
    const auto taken = std::min(queue.size(), static_cast<std::size_t>(times.batch_size));
    // A quarter of the time is the batch's, whatever its size.
    now += times.infer_minibatch / 4 +
           3 * static_cast<std::int64_t>(taken) * times.infer_minibatch / (4 * times.batch_size);
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(taken));
    served += static_cast<double>(taken);
    ++batches;
  }
  return served / batches;
}

TEST(Interleaving, TrainsBesideBatchesThatAreHalfFullOnAverageUpToALimit) {
  int half_full = 0;
  int less_full = 0;
  for (const int batch_size : {8, 16, 32, 64}) {
    for (const double requests_per_s : {30.0, 60.0, 120.0}) {
      for (const nanoseconds infer : {40ms, 100ms, 160ms}) {
        if (requests_per_s * 1e-9 * static_cast<double>(infer.count()) > 0.85 * batch_size)
          continue;
        for (const nanoseconds train : {20ms, 80ms, 150ms, 220ms, 260ms, 300ms}) {
          InterleavingState times;
          times.batch_size = batch_size;
          times.latency = 500ms;
          times.train_minibatch = train;
          times.infer_minibatch = infer;
          const nanoseconds half(std::llround(5e8 * batch_size / requests_per_s));
          const bool fills = train <= longest_beside_half_full(times.latency, half, infer);
          const double full = mean_batch(times, requests_per_s) / batch_size;
          const std::string what = std::to_string(batch_size) + " in " +
                                   std::to_string(infer.count() / 1'000'000) + " ms at " +
                                   std::to_string(requests_per_s) + "/s beside " +
                                   std::to_string(train.count() / 1'000'000) + " ms";
          ++(fills ? half_full : less_full);
          if (fills) {
            EXPECT_GT(full, 0.45) << what;
          } else if (training_fits(times)) {
            EXPECT_LT(full, 0.75) << what;  // more comes while a long minibatch runs
          }
        }
      }
    }
  }
  EXPECT_GT(half_full, 50);
  EXPECT_GT(less_full, 50);
}

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
