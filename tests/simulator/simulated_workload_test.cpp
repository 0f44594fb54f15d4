#include "simulator/simulated_workload.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;

class SimulatedWorkloadTest : public testing::Test {
 protected:
  SimulatedWorkloadTest() { workload_.set_pace(Time{}, pace_); }

  static Workload hello() {
    Workload hello;
    hello.handle = 1;
    hello.kind = Kind::train;
    hello.batch_size = 16;
    return hello;
  }
  void ask(std::int32_t batch_size, gearshift::Run run = gearshift::Run::both) {
    workload_.command({.sequence = ++asked_, .batch_size = batch_size, .run = run});
  }
  // Ends so many minibatches. Those until the newest command was in force; 0: it is not yet.
  int end(int minibatches) {
    for (int i = 1; i <= minibatches; ++i) {
      if (!workload_.finish(events_)) continue;
      workload_.set_pace(workload_.due() == Time::max() ? Time{} : workload_.due(), pace_);
      return i;
    }
    return 0;
  }

  Pace pace_{.minibatch_ns = 1e8};
  SimulatedWorkload workload_{hello()};
  EventBuffer events_;
  std::uint32_t asked_ = 0;
};

TEST_F(SimulatedWorkloadTest, FollowsOnceTheBatchesThatWereFetchedAreUsedUp) {
  ask(32);
  EXPECT_EQ(end(10), 4);
  EXPECT_EQ(workload_.batch_size(), 32);
  EXPECT_EQ(workload_.set_sequence(), 1U);
}

// A loader fetches each batch with the size that is wanted then.
TEST_F(SimulatedWorkloadTest, AnotherSizeWaitsForBatchesOfItsOwn) {
  ask(32);
  EXPECT_EQ(end(2), 0);
  ask(64);
  EXPECT_EQ(end(10), 4);
  EXPECT_EQ(workload_.batch_size(), 64);
}

TEST_F(SimulatedWorkloadTest, ANewerCommandForTheSameSizeWaitsNoLonger) {
  ask(32);
  EXPECT_EQ(end(2), 0);
  ask(32, gearshift::Run::train);
  EXPECT_EQ(end(10), 2);
  EXPECT_EQ(workload_.batch_size(), 32);
  EXPECT_EQ(workload_.set_sequence(), 2U);
}

TEST_F(SimulatedWorkloadTest, GoesOnWithItsOwnSizeAtOnce) {
  ask(32);
  EXPECT_EQ(end(1), 0);
  ask(16);
  EXPECT_EQ(end(10), 1);
  EXPECT_EQ(workload_.batch_size(), 16);
}

// Of minibatches of 0.1 s one in twenty stalls where two seconds lie between two stalls.
TEST_F(SimulatedWorkloadTest, StallsAsOftenAsItsTimeSaysAndForSoLong) {
  pace_.stall_ns = 4.5e7;
  pace_.stall_interval_ns = 2e9;
  workload_.set_pace(Time{}, pace_);
  int stalled = 0;
  for (int i = 0; i < 4000; ++i) {
    events_.clear();
    workload_.finish(events_);
    const Duration elapsed = events_.back().minibatch.elapsed;
    stalled += elapsed == milliseconds(145) ? 1 : 0;
    EXPECT_TRUE(elapsed == milliseconds(145) || elapsed == milliseconds(100));
  }
  EXPECT_NEAR(stalled, 200, 45);
}

}  // namespace
}  // namespace gearshift
