// The meter where batches of requests come rarely.
#include <gtest/gtest.h>

#include "tests/fakes/metered.h"

namespace gearshift {
namespace {

using fakes::at;
using fakes::kInstant;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class MeterOfRareRequests : public fakes::Metered {
 protected:
  void begin(Duration comes_every) {
    Expected train{.runs = true, .warm = true};
    Expected infer = train;
    infer.comes_every = comes_every;
    Setting setting;
    setting.batch_size = {16, 1};
    meter_.begin(setting, {train, infer}, at({}));
  }
  void minibatch(Duration received, Duration elapsed, Kind kind = Kind::train) {
    Minibatch minibatch;
    minibatch.kind = kind;
    minibatch.batch_size = kind == Kind::train ? 16 : 1;
    minibatch.elapsed = elapsed;
    minibatch.received = at(received);
    meter_.add(minibatch);
  }
  // Training, and a reading each 100 ms, in (from, to].
  void train_until(Duration from, Duration to) {
    for (Duration t = from + milliseconds(10); t <= to; t += milliseconds(10)) {
      minibatch(t, milliseconds(10));
      if ((t - from) % kPeriod == Duration::zero()) power(t, 20000);
    }
  }
  // A batch of requests at the end of each span, of which the first straddles the change and one is
  // lost while power settles.
  void expect_complete_after_four(Duration span) {
    for (int batch = 1; batch <= 4; ++batch) {
      const Duration before = (batch - 1) * span;
      train_until(before, before + span - seconds(1));
      EXPECT_FALSE(meter_.answer(at(before + span - seconds(1)))) << batch;
      minibatch(before + span, milliseconds(50), Kind::infer);
    }
    const auto answer = meter_.answer(at(4 * span));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->ok());
    EXPECT_EQ(answer->cost[index(Kind::infer)].minibatches, 3U);
  }
};

// One batch a measurement: it is hardly any of the time, and comes once in a minute or so.
TEST_F(MeterOfRareRequests, OneIsEnough) {
  begin(seconds(30));
  train_until({}, seconds(30));
  EXPECT_FALSE(meter_.answer(at(seconds(30))));
  minibatch(seconds(30), milliseconds(50), Kind::infer);
  train_until(seconds(30), seconds(30) + milliseconds(300));
  EXPECT_FALSE(meter_.answer(at(seconds(30) + milliseconds(300)))) << "its power is not seen yet";
  train_until(seconds(30) + milliseconds(300), seconds(30) + milliseconds(400));
  const auto answer = meter_.answer(at(seconds(30) + milliseconds(400)));
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok());
  EXPECT_EQ(answer->cost[index(Kind::infer)].minibatches, 1U);
  EXPECT_LT(answer->confidence, 0.02) << "of training; one batch has no interval";
}

TEST_F(MeterOfRareRequests, OneThatBeganBeforeOrBeforePowerHadSettledDoesNotCount) {
  begin(seconds(5));
  minibatch(milliseconds(20), milliseconds(50), Kind::infer);
  minibatch(milliseconds(300), milliseconds(50), Kind::infer);
  train_until({}, seconds(20));
  EXPECT_FALSE(meter_.answer(at(seconds(20))));
  minibatch(seconds(20), milliseconds(50), Kind::infer);
  train_until(seconds(20), seconds(21));
  EXPECT_TRUE(meter_.answer(at(seconds(21))));
}

TEST_F(MeterOfRareRequests, OneIsNotEnoughWhereNothingElseRuns) {
  Expected infer{.runs = true, .warm = true, .comes_every = seconds(5)};
  Setting setting;
  setting.batch_size = {16, 1};
  setting.run = Run::infer;
  meter_.begin(setting, {Expected{.warm = true}, infer}, at({}));
  for (int batch = 1; batch <= 2; ++batch) {
    minibatch(seconds(5) * batch, milliseconds(50), Kind::infer);
    for (Duration t = seconds(5) * (batch - 1); t < seconds(5) * batch; t += milliseconds(100)) {
      power(t, 20000);
    }
  }
  EXPECT_FALSE(meter_.answer(at(seconds(10))));
}

// Four that come by chance may take three times as long as they do on average.
TEST_F(MeterOfRareRequests, WaitsForThemWhereTheyAreLate) {
  begin(seconds(4));
  expect_complete_after_four(seconds(11));
}

TEST_F(MeterOfRareRequests, CallsThemStalledWhereTheyNoLongerCome) {
  begin(seconds(30));
  train_until({}, options_.stall_after + seconds(60));
  EXPECT_FALSE(meter_.answer(at(options_.stall_after + seconds(60))));
  const auto answer = meter_.answer(at(options_.stall_after + seconds(60) + kInstant));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->outcome, Outcome::stalled);
}

}  // namespace
}  // namespace gearshift
