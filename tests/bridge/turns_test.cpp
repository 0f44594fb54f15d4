#include "bridge/turns.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace gearshift {
namespace {

using std::chrono::seconds;

constexpr Time kNow{std::chrono::hours(1)};

WorkloadHandle next(Turns& turns) {
  const auto turn = turns.grant(kNow);
  return turn ? turn->workload : WorkloadHandle{0};
}

TEST(Turns, GoToOneAtATimeInTheOrderTheyWereAskedFor) {
  Turns turns(seconds(10));
  EXPECT_EQ(next(turns), 0);
  turns.request(1, Kind::train, 5);
  turns.request(2, Kind::train, 6);
  const auto turn = turns.grant(kNow);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->workload, 1);
  EXPECT_EQ(turn->number, 5u);
  EXPECT_EQ(next(turns), 0);
  turns.end(1, 5);
  EXPECT_EQ(next(turns), 2);
}

TEST(Turns, GoToInferenceBeforeTraining) {
  Turns turns(seconds(10));
  turns.request(1, Kind::train, 1);
  turns.request(2, Kind::infer, 1);
  turns.request(3, Kind::infer, 1);
  EXPECT_EQ(next(turns), 2);
  turns.end(2, 1);
  turns.request(2, Kind::infer, 2);
  EXPECT_EQ(next(turns), 3);
  turns.end(3, 1);
  EXPECT_EQ(next(turns), 2);
  turns.end(2, 2);
  EXPECT_EQ(next(turns), 1);
}

TEST(Turns, OfWhoLeavesGoToTheNext) {
  Turns turns(seconds(10));
  for (WorkloadHandle workload = 1; workload <= 3; ++workload) {
    turns.request(workload, Kind::train, 1);
  }
  EXPECT_EQ(next(turns), 1);
  turns.leave(2);
  turns.leave(1);
  EXPECT_EQ(next(turns), 3);
}

TEST(Turns, EndOnlyByTheirNumber) {
  Turns turns(seconds(10));
  turns.request(1, Kind::train, 7);
  turns.request(2, Kind::train, 7);
  EXPECT_EQ(next(turns), 1);
  turns.end(1, 6);
  turns.end(3, 7);
  EXPECT_EQ(next(turns), 0);
  turns.end(2, 7);  // it waits no more
  turns.end(1, 7);
  EXPECT_EQ(next(turns), 0);
}

TEST(Turns, AreAskedForAnewByWhoHoldsOne) {
  Turns turns(seconds(10));
  turns.request(1, Kind::train, 1);
  turns.request(2, Kind::train, 1);
  EXPECT_EQ(next(turns), 1);
  turns.request(1, Kind::train, 2);
  EXPECT_EQ(next(turns), 2);
}

TEST(Turns, AreLostByWhoHoldsThemTooLong) {
  Turns turns(seconds(10));
  EXPECT_FALSE(turns.due());
  turns.request(1, Kind::train, 4);
  turns.request(2, Kind::train, 9);
  EXPECT_EQ(next(turns), 1);
  ASSERT_TRUE(turns.due());
  EXPECT_EQ(*turns.due(), kNow + seconds(10));
  EXPECT_FALSE(turns.expire(kNow + seconds(10) - Duration(1)));
  const auto lost = turns.expire(kNow + seconds(10));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->workload, 1);
  EXPECT_EQ(lost->number, 4u);
  EXPECT_FALSE(turns.expire(kNow + seconds(20)));
  EXPECT_EQ(next(turns), 2);
  turns.end(1, 4);  // too late: it is another's
  EXPECT_EQ(next(turns), 0);
}

TEST(Turns, AreKnownWhileTheyAreHeldOrWaitedFor) {
  Turns turns(seconds(10));
  EXPECT_FALSE(turns.knows(1, 4));
  turns.request(1, Kind::train, 4);
  turns.request(2, Kind::train, 9);
  EXPECT_TRUE(turns.knows(1, 4)) << "it waits";
  EXPECT_EQ(next(turns), 1);
  EXPECT_TRUE(turns.knows(1, 4)) << "it holds it";
  EXPECT_TRUE(turns.knows(2, 9));
  EXPECT_FALSE(turns.knows(1, 9));
  EXPECT_FALSE(turns.knows(2, 4));
  turns.end(1, 4);
  turns.end(2, 9);
  EXPECT_FALSE(turns.knows(1, 4));
  EXPECT_FALSE(turns.knows(2, 9));
}

TEST(Turns, HeldGoOnUnderAnotherHandle) {
  Turns turns(seconds(10));
  turns.request(1, Kind::train, 4);
  turns.request(2, Kind::train, 9);
  EXPECT_EQ(next(turns), 1);
  turns.rename(1, 7);
  turns.rename(2, 8);
  EXPECT_TRUE(turns.knows(7, 4));
  EXPECT_FALSE(turns.knows(1, 4));
  EXPECT_FALSE(turns.knows(8, 9)) << "what waits is not carried over";
  turns.leave(1);  // whose turn it is no more
  EXPECT_EQ(next(turns), 0);
  EXPECT_EQ(turns.due(), kNow + seconds(10)) << "no longer than it was to last";
  turns.end(7, 4);
  EXPECT_EQ(next(turns), 2);
}

// Whatever happens in whatever order: one holds it, and nobody waits while nobody holds it.
TEST(Turns, AreHeldByOneAndNeverIdle) {
  std::mt19937_64 choose(3);
  Turns turns(seconds(10));
  Time now = kNow;
  std::map<WorkloadHandle, std::uint64_t> waiting;
  std::optional<Turns::Turn> held;
  for (int i = 0; i < 20'000; ++i) {
    now += std::chrono::milliseconds(choose() % 100);
    const auto workload = static_cast<WorkloadHandle>(1 + choose() % 4);
    if (const auto lost = turns.expire(now)) {
      ASSERT_TRUE(held);
      ASSERT_EQ(lost->number, held->number);
      held.reset();
    }
    switch (choose() % 8) {
      case 0:
        turns.leave(workload);
        waiting.erase(workload);
        if (held && held->workload == workload) held.reset();
        break;
      case 1:
      case 2:
      case 3:
        turns.request(workload, workload < 3 ? Kind::train : Kind::infer,
                      10U + static_cast<unsigned>(i));
        waiting[workload] = 10U + static_cast<unsigned>(i);
        if (held && held->workload == workload) held.reset();
        break;
      default:
        if (!held) break;
        turns.end(held->workload, held->number);
        held.reset();
    }
    const auto granted = turns.grant(now);
    ASSERT_EQ(granted.has_value(), !held && !waiting.empty());
    if (!granted) continue;
    ASSERT_EQ(waiting.at(granted->workload), granted->number);
    waiting.erase(granted->workload);
    const bool infer_waits = waiting.count(3) + waiting.count(4) > 0;
    ASSERT_FALSE(granted->workload < 3 && infer_waits);
    held = granted;
  }
}

}  // namespace
}  // namespace gearshift
