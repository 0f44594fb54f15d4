#include "simulator/request_run.h"

#include <gtest/gtest.h>

#include "simulator/request_queue.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// 60 requests a second within a second; 40 ms of training, batches of 16 in 50 ms.
RequestRun typical() {
  RequestRun run;
  run.arrivals.rate_per_s = 60;
  run.latency = seconds(1);
  run.train_minibatch_ms = 40;
  run.batch_size = 16;
  run.infer = {{1, 10}, {4, 18}, {16, 50}};
  run.minutes = 5;
  return run;
}

TEST(RequestTally, CountsWhatWasNotAnsweredAsInfinitelyLate) {
  RequestTally tally(milliseconds(100));
  for (int i = 1; i <= 98; ++i) tally.serve(milliseconds(i));
  tally.serve(milliseconds(101));
  tally.drop();
  RequestTally sum(milliseconds(100));
  sum.add(tally);
  const RequestFigures figures = tally.take();
  EXPECT_EQ(figures.served, 99u);
  EXPECT_EQ(figures.late, 2u);
  EXPECT_EQ(figures.latency_p50, milliseconds(50));
  EXPECT_EQ(figures.latency_p95, milliseconds(95));
  EXPECT_EQ(figures.latency_p99, milliseconds(101));
  EXPECT_EQ(figures.latency_max, milliseconds(101));
  EXPECT_EQ(tally.take().ended(), 0u);
  sum.refuse();
  sum.refuse();
  EXPECT_EQ(sum.take().latency_p99, Duration::max());
}

TEST(RequestTally, KnowsTheQuantilesOfThoseServedToo) {
  RequestTally tally(milliseconds(100));
  tally.serve(milliseconds(5));
  tally.refuse();
  const RequestFigures figures = tally.take_served();
  EXPECT_EQ(figures.latency_p99, milliseconds(5));
  EXPECT_EQ(figures.late, 1u);
  EXPECT_EQ(tally.take().latency_p99, Duration::zero());
}

TEST(RequestRun, KeepsRequestsInTimeAndTrainsInAllTheTimeLeft) {
  const RequestRun run = typical();
  const RequestRunResult result = run_requests(run);
  ASSERT_EQ(result.minutes.size(), 5u);
  EXPECT_EQ(result.share_in_time, 1);
  EXPECT_EQ(result.whole.requests.late, 0u);
  EXPECT_NEAR(result.whole.requests.arrived, 5 * 3600, 5 * 200);
  // Inference takes 60 / 16 * 50 ms of a second, training the rest.
  EXPECT_NEAR(result.trained_per_s, (1 - 60.0 / 16 * 0.05) / 0.04, 0.3);
}

TEST(RequestRun, IsTheSameForTheSameSeed) {
  RequestRun run = typical();
  const RequestRunResult one = run_requests(run);
  const RequestRunResult two = run_requests(run);
  EXPECT_EQ(one.whole.requests.latency_p99, two.whole.requests.latency_p99);
  EXPECT_EQ(one.trained_per_s, two.trained_per_s);
  run.seed = 2;
  EXPECT_NE(one.whole.requests.latency_p99, run_requests(run).whole.requests.latency_p99);
}

TEST(RequestRun, ServesPartialBatchesWhereWaitingWouldBeLate) {
  RequestRun run = typical();
  run.arrivals.rate_per_s = 4;  // a batch fills in 4 s
  const RequestRunResult result = run_requests(run);
  EXPECT_EQ(result.share_in_time, 1);
  EXPECT_EQ(result.whole.partial, result.whole.inferred);
  EXPECT_LE(result.whole.requests.latency_max, milliseconds(930));
}

TEST(RequestRun, DoesNotTrainWhereThatMakesRequestsLate) {
  RequestRun run = typical();
  run.train_minibatch_ms = 950;
  const RequestRunResult result = run_requests(run);
  EXPECT_EQ(result.share_in_time, 1);
  // One before the first request came, at most.
  EXPECT_LE(result.whole.trained, 1u);
  run.arrivals.rate_per_s = 0;
  EXPECT_GT(run_requests(run).whole.trained, 300u);
}

TEST(RequestRun, TrainsAllTheTimeWhereNoRequestCanBeAnsweredInTime) {
  RequestRun run = typical();
  run.latency = milliseconds(20);
  const RequestRunResult result = run_requests(run);
  EXPECT_EQ(result.whole.requests.served, 0u);
  EXPECT_NEAR(result.trained_per_s, 25, 0.3);
}

TEST(RequestRun, RefusesWhatItCannotServeAndAnswersTheRestInTime) {
  RequestRun run = typical();
  run.arrivals.rate_per_s = 640;  // twice what fits
  const RequestRunResult result = run_requests(run);
  const RequestFigures& requests = result.whole.requests;
  EXPECT_EQ(result.share_in_time, 0);
  EXPECT_NEAR(static_cast<double>(requests.served) / requests.arrived, 0.5, 0.03);
  EXPECT_EQ(requests.refused + requests.dropped, requests.late);
  EXPECT_LE(requests.latency_max, milliseconds(1050));
}

TEST(RequestRun, WithoutTrainingLetsABatchFill) {
  RequestRun run = typical();
  run.train_minibatch_ms = 0;
  run.arrivals.rate_per_s = 30;
  const RequestRunResult result = run_requests(run);
  EXPECT_EQ(result.whole.trained, 0u);
  EXPECT_EQ(result.share_in_time, 1);
  EXPECT_LT(result.whole.partial, result.whole.inferred / 20);
}

TEST(RequestRun, TakesTheTimeBetweenTwoSizesFromTheLineThroughThem) {
  RequestRun run = typical();
  run.jitter = 0;
  run.train_minibatch_ms = 0;
  run.arrivals = {.pattern = ArrivalPattern::trace, .rate_per_s = 10};
  run.arrivals.times = {seconds(0), seconds(1), seconds(2)};
  // The first request, 0.1 s after the beginning, waits until 0.9 s less 50 ms have gone by: nine
  // wait then, which take 18 ms and 5 of 12 steps to 50 ms.
  const RequestRunResult result = run_requests(run);
  EXPECT_NEAR(gearshift::seconds(result.whole.requests.latency_max), 0.85 + 0.0313, 0.0005);
}

TEST(RequestQueue, DropsWhatIsLateForCertainWhenItsMinibatchBegins) {
  ArrivalSpec spec{.pattern = ArrivalPattern::trace, .rate_per_s = 10};
  spec.times = {seconds(0), seconds(1), seconds(2)};
  RequestQueue queue(Arrivals(spec, 1), seconds(1));
  InterleavingState times;
  times.batch_size = 4;
  times.latency = seconds(1);
  times.infer_minibatch = milliseconds(100);
  const Time now = Time{} + milliseconds(1250);
  queue.take_arrivals(now, Time{}, times);
  // 12 of them, 0.1 s apart; those of 0.1 to 0.3 s can no longer be in time.
  EXPECT_EQ(queue.queued(), 12u);
  EXPECT_EQ(queue.begin(now, times), 4u);
  EXPECT_EQ(queue.queued(), 5u);
  queue.finish(now + milliseconds(100));
  const RequestFigures figures = queue.tally().take();
  EXPECT_EQ(figures.dropped, 3u);
  EXPECT_EQ(figures.served, 4u);
  EXPECT_EQ(figures.late, 3u);
  EXPECT_EQ(figures.latency_max, milliseconds(950));
}

}  // namespace
}  // namespace gearshift
