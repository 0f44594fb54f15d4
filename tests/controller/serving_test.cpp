#include "controller/serving.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Use = Serving::Use;

constexpr Duration kLimit = milliseconds(60);

Workload served_within(Duration latency = kLimit) {
  Workload workload;
  workload.kind = Kind::infer;
  workload.batch_sizes = {1, 4, 16};
  workload.batch_size_count = 3;
  workload.latency = latency;
  return workload;
}

Serving met(double asked_per_s = 0) {
  const Workload workload = served_within();
  Goal goal;
  goal.latency = workload.latency;
  goal.arrivals_per_s = asked_per_s;
  Serving serving;
  serving.meet(&workload, goal);
  return serving;
}

Setting batch_of(std::int32_t batch_size) {
  Setting setting;
  setting.batch_size[index(Kind::infer)] = batch_size;
  return setting;
}

// Of the half second before `received`.
RequestReport report(Duration received, std::uint32_t served, std::uint32_t late = 0) {
  RequestReport report;
  report.span = milliseconds(500);
  report.received = Time{} + received;
  report.arrived = report.served = served;
  report.late = late;
  report.latency_p99 = report.latency_max = late > 0 ? milliseconds(75) : milliseconds(20);
  return report;
}

// 100 requests a second, for so many seconds.
Serving counted(int until_s) {
  Serving serving = met();
  for (int i = 1; i <= 2 * until_s; ++i) serving.add(report(i * milliseconds(500), 50));
  return serving;
}

// A usual minibatch eight times, and one that took 40 ms longer: until 60.5 s.
void stall(Serving& serving) {
  Minibatch minibatch;
  minibatch.kind = Kind::infer;
  minibatch.batch_size = 4;
  minibatch.received = Time{} + seconds(60);
  minibatch.elapsed = milliseconds(10);
  for (std::size_t i = 0; i < Stalls::kFewest; ++i) serving.add(minibatch);
  minibatch.elapsed = milliseconds(50);
  serving.add(minibatch);
}

TEST(Serving, PlansForTheRateThatIsAskedForUntilRequestsAreCounted) {
  Serving serving = met(7);
  EXPECT_DOUBLE_EQ(serving.planned_per_s(), 7);
  int changes = 0;
  for (int i = 1; i <= 120; ++i) changes += serving.add(report(i * milliseconds(500), 50));
  EXPECT_EQ(changes, 1);
  EXPECT_GE(serving.planned_per_s(), 100);
  EXPECT_LE(serving.planned_per_s(), 105);
}

TEST(Serving, PlansForTwoRequestsALimitAtLeast) {
  Serving serving = met();
  for (int i = 1; i <= 120; ++i) serving.add(report(i * milliseconds(500), 1));
  EXPECT_DOUBLE_EQ(serving.planned_per_s(), 2 / gearshift::seconds(kLimit));
}

TEST(Serving, AwaitsRequestsOfAServerThatReportsThemUntilTheyAreCountedOrWhileNoneCome) {
  Serving none;
  EXPECT_FALSE(none.awaits_requests(Time{})) << "nobody is here";
  Serving serving = met();
  EXPECT_TRUE(serving.awaits_requests(Time{} + seconds(1)));
  EXPECT_FALSE(serving.must_serve());
  serving = counted(60);
  EXPECT_FALSE(serving.awaits_requests(Time{} + seconds(61)));
  EXPECT_TRUE(serving.must_serve());
  EXPECT_TRUE(serving.awaits_requests(Time{} + std::chrono::minutes(10))) << "nobody asks";
  serving.meet(nullptr, {});
  EXPECT_FALSE(serving.awaits_requests(Time{} + seconds(61)));
  EXPECT_FALSE(serving.must_serve());
  Workload mute = served_within(Duration{});
  Goal goal;
  goal.latency = kLimit;
  serving.meet(&mute, goal);
  EXPECT_FALSE(serving.awaits_requests(Time{})) << "it says nothing of its requests, so far";
  serving.add(report(seconds(1), 0));
  EXPECT_TRUE(serving.awaits_requests(Time{} + seconds(1)));
}

TEST(Serving, ChoosesTheLargestBatchThatFillsInAQuarterOfTheLimit) {
  EXPECT_EQ(met(266).batch_size(served_within()), 1) << "3.99 requests in 15 ms";
  EXPECT_EQ(met(267).batch_size(served_within()), 4);
  EXPECT_EQ(met(2000).batch_size(served_within()), 16);
  EXPECT_EQ(met(1).batch_size(served_within()), 1) << "the smallest in any case";
}

TEST(Serving, ABatchThatIsNotHalfFullFourTimesOverNeverFills) {
  Serving serving = met();
  serving.credit(report(seconds(1), 10), batch_of(4), Use::held);
  serving.credit(report(seconds(2), 16), batch_of(4), Use::measured);
  EXPECT_FALSE(serving.never_fills(4)) << "four batches of four";
  serving.credit(report(seconds(3), 1), batch_of(4), Use::measured);
  EXPECT_TRUE(serving.never_fills(4));
  Minibatch full;
  full.batch_size = 3;
  full.kind = Kind::train;
  serving.fill(full);
  EXPECT_TRUE(serving.never_fills(4)) << "no batch of requests";
  full.kind = Kind::infer;
  serving.fill(full);
  EXPECT_FALSE(serving.never_fills(4));
  serving.credit(report(seconds(4), 100), batch_of(4), Use::measured);
  serving.measure();
  EXPECT_FALSE(serving.never_fills(4)) << "another measurement";
}

// 100 a second are six in the limit of 60 ms: 64 are never half full, and it took 256 requests to
// see that, of five a second most of a minute.
TEST(Serving, ABatchOfMoreThanTwiceWhatComesInTimeIsSoonKnownNeverToFill) {
  Serving serving = counted(60);
  serving.measure();
  serving.credit(report(seconds(61), 45), batch_of(64), Use::measured);
  const double in_time = serving.planned_per_s() * 0.06;
  ASSERT_LT(4 * 2 * in_time, 55);
  EXPECT_FALSE(serving.never_fills(64));
  serving.credit(report(seconds(62), 10), batch_of(64), Use::measured);
  EXPECT_TRUE(serving.never_fills(64));
}

TEST(Serving, IsLateSinceTheFirstTimeUntilRequestsAreInTimeAgain) {
  Serving serving = met();
  EXPECT_FALSE(serving.late(Time{}));
  serving.add(report(seconds(1), 40, 3));
  EXPECT_TRUE(serving.late(Time{} + seconds(1)));
  EXPECT_EQ(serving.lateness(), "p99 75.0 ms of 60.0 ms, 3 late among 40");
  EXPECT_FALSE(serving.late_for(Duration{}, Time{} + seconds(1))) << "nothing was done about it";
  serving.begin_lateness(Time{} + seconds(1));
  serving.begin_lateness(Time{} + seconds(3));
  EXPECT_TRUE(serving.late_for(seconds(2), Time{} + seconds(3)));
  serving.rearm_at(Time{} + seconds(3));
  EXPECT_FALSE(serving.late(Time{} + seconds(3))) << "of the setting before";
  EXPECT_TRUE(serving.late_for(seconds(2), Time{} + seconds(3))) << "nobody knows better yet";
  EXPECT_FALSE(serving.judges(report(milliseconds(3499), 40)));
  EXPECT_TRUE(serving.judges(report(milliseconds(3500), 40)));
  serving.add(report(seconds(4), 40));
  EXPECT_FALSE(serving.late(Time{} + seconds(4)));
  EXPECT_FALSE(serving.late_for(Duration{}, Time{} + seconds(4)));
}

TEST(Serving, IsPressedByWhatComesNowWhereThatIsMore) {
  Serving serving = counted(60);
  serving.add(report(milliseconds(60'500), 100, 1));
  EXPECT_DOUBLE_EQ(serving.pressing_per_s(), 200);
  serving.add(report(seconds(61), 10));
  EXPECT_DOUBLE_EQ(serving.pressing_per_s(), serving.planned_per_s());
}

// At five requests a second, six in one are no higher rate: a setting that is late then was held
// again and again, since it was late at six alone.
TEST(Serving, TakesWhatChanceBringsForNoHigherRate) {
  Serving serving = counted(60);
  const double planned = serving.planned_per_s();
  serving.add(report(milliseconds(60'500), 70, 1));
  EXPECT_DOUBLE_EQ(serving.late_per_s(), planned);
  EXPECT_DOUBLE_EQ(serving.pressing_per_s(), 140);
  serving.add(report(milliseconds(61'000), 80, 1));
  EXPECT_DOUBLE_EQ(serving.late_per_s(), 160);
}

TEST(Serving, BearsWhatAStallExplainsWhileTheSettingHasCreditForIt) {
  Serving serving = counted(60);
  serving.add(report(milliseconds(60'500), 50, 5));
  EXPECT_FALSE(serving.bears_stall(batch_of(4), Use::held)) << "nothing stalled";
  stall(serving);
  EXPECT_TRUE(serving.bears_stall(batch_of(4), Use::held))
      << "of ten, a tenth of a second's requests";
  EXPECT_TRUE(serving.bears_stall(batch_of(4), Use::held));
  EXPECT_FALSE(serving.bears_stall(batch_of(4), Use::held)) << "fifteen of ten";
  EXPECT_TRUE(serving.bears_stall(batch_of(4), Use::measured)) << "it has credit of its own";
  serving.forget();
  EXPECT_TRUE(serving.bears_stall(batch_of(4), Use::held)) << "what was measured is forgotten";
  serving.change();
  EXPECT_FALSE(serving.bears_stall(batch_of(16), Use::held)) << "in which nothing stalled";
}

TEST(Serving, BlamesWhatIsHeldAndWasLateTwice) {
  Serving serving = counted(60);
  serving.hold(batch_of(4), Time{} + seconds(60));
  serving.add(report(milliseconds(60'500), 50, 5));
  EXPECT_FALSE(serving.blames(batch_of(4), Use::held)) << "once may be an accident";
  EXPECT_EQ(serving.late_setting(), batch_of(4));
  EXPECT_TRUE(serving.blames(batch_of(4), Use::held));
  EXPECT_FALSE(serving.blames(batch_of(16), Use::other)) << "nobody said that it would serve";
  EXPECT_EQ(serving.late_setting(), batch_of(16));
}

TEST(Serving, BlamesWhatIsHeldForStallsThatItHasNoCreditFor) {
  Serving serving = counted(60);
  serving.hold(batch_of(4), Time{} + seconds(60));
  serving.add(report(milliseconds(60'500), 50, 50));
  stall(serving);
  EXPECT_FALSE(serving.bears_stall(batch_of(4), Use::held));
  EXPECT_TRUE(serving.blames(batch_of(4), Use::held)) << "their accidents have been counted";
}

TEST(Serving, ForgetsThatNothingServesWithTheRateOrTheServer) {
  Serving serving = counted(60);
  EXPECT_TRUE(serving.find_unserved());
  EXPECT_FALSE(serving.find_unserved()) << "it is known";
  EXPECT_TRUE(serving.unserved());
  EXPECT_FALSE(serving.must_serve());
  for (int i = 121; i <= 126; ++i) serving.add(report(i * milliseconds(500), 200));
  EXPECT_GT(serving.planned_per_s(), 200);
  EXPECT_FALSE(serving.unserved());
  serving.find_unserved();
  serving.meet(nullptr, {});
  EXPECT_FALSE(serving.unserved());
}

TEST(Serving, APlanGivesWayHalfOfTheWayFromWhatServesToWhatDidNot) {
  Serving serving = counted(60);
  EXPECT_FALSE(serving.gives_way(10'000)) << "no search has found it too low";
  serving.find_unserved();
  serving.nothing_serves_under(10'000);
  EXPECT_FALSE(serving.unserved()) << "something does above it";
  EXPECT_TRUE(serving.gives_way(10'000));
  EXPECT_FALSE(serving.gives_way(10'001));
  EXPECT_EQ(serving.sought_mw(20'000), 15'000);
  serving.nothing_serves_under(8'000);
  EXPECT_TRUE(serving.gives_way(10'000)) << "the highest counts";
  EXPECT_EQ(serving.sought_mw(12'000), 12'000) << "near enough";
  serving.forget();
  EXPECT_FALSE(serving.gives_way(8'000));
}

}  // namespace
}  // namespace gearshift
