#include "controller/arrival_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Reports of half a second each.
struct Reports {
  ArrivalRate rate;
  Time now{};
  int changes = 0;

  void add(std::uint32_t arrived, Duration span = milliseconds(500)) {
    now += span;
    RequestReport report;
    report.span = span;
    report.arrived = arrived;
    report.received = now;
    changes += rate.add(report);
  }
  void add(int times, std::uint32_t arrived) {
    for (int i = 0; i < times; ++i) add(arrived);
  }
};

TEST(ArrivalRate, IsUnknownUntilItHasCountedForThreeSeconds) {
  Reports reports;
  reports.add(5, 9);
  EXPECT_EQ(reports.rate.per_s(), 0);
  reports.add(9);
  EXPECT_GE(reports.rate.per_s(), 18);
  EXPECT_LE(reports.rate.per_s(), 19);
  EXPECT_EQ(reports.changes, 1);
}

TEST(ArrivalRate, IsKnownAfterSixtyRequestsAndASecond) {
  Reports reports;
  reports.add(2, 20);
  EXPECT_EQ(reports.rate.per_s(), 0);
  reports.add(20);
  EXPECT_GE(reports.rate.per_s(), 40);
  EXPECT_LE(reports.rate.per_s(), 42);
  Reports fast;
  fast.add(300);
  EXPECT_EQ(fast.rate.per_s(), 0);
  fast.add(300);
  EXPECT_GE(fast.rate.per_s(), 600);
}

TEST(ArrivalRate, StandsOnRungsOfFivePercentAndIsNoLessThanWhatWasCounted) {
  EXPECT_EQ(rate_rung(0), 0);
  EXPECT_DOUBLE_EQ(rate_rung(1), 1);
  for (const double per_s : {0.3, 1.0001, 29.9, 60.0, 119.0}) {
    EXPECT_GE(rate_rung(per_s), per_s);
    EXPECT_LE(rate_rung(per_s), 1.05 * per_s * (1 + 1e-9));
    EXPECT_DOUBLE_EQ(rate_rung(rate_rung(per_s)), rate_rung(per_s));
  }
}

TEST(ArrivalRate, DoesNotTrembleWithPoissonArrivals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Reports reports;
    for (int i = 0; i < 2400; ++i) {  // 20 minutes at 60 a second
      double sum = 0;
      std::uint32_t arrived = 0;
      while (true) {
        sum -= std::log(1 - static_cast<double>(random() >> 11) * 0x1p-53) / 60.0;
        if (sum > 0.5) break;
        ++arrived;
      }
      reports.add(arrived);
    }
    // The first estimate is of three seconds, and may be off by a tenth; then it stays.
    EXPECT_LE(reports.changes, 4) << seed;
    EXPECT_NEAR(reports.rate.per_s(), 60, 9) << seed;
  }
}

TEST(ArrivalRate, RisesWithinTwoReportsOfThreeTimesTheRate) {
  Reports reports;
  reports.add(40, 30);
  reports.add(2, 90);
  EXPECT_GE(reports.rate.per_s(), 180);
  EXPECT_LE(reports.rate.per_s(), 189);
}

TEST(ArrivalRate, FallsInTheEndAndNotForASecond) {
  Reports reports;
  reports.add(40, 90);
  const double high = reports.rate.per_s();
  reports.add(2, 30);
  EXPECT_EQ(reports.rate.per_s(), high);
  reports.add(78, 30);
  EXPECT_NEAR(reports.rate.per_s(), 61.5, 5);
}

TEST(ArrivalRate, FallsInAFewStepsOnceABurstIsPast) {
  Reports reports;
  reports.add(80, 30);
  reports.add(20, 90);  // ten seconds
  const int before = reports.changes;
  reports.add(60, 30);
  EXPECT_LE(reports.changes, before + 2);
  EXPECT_NEAR(reports.rate.per_s(), 61.5, 5);
}

TEST(ArrivalRate, FallsWithinASecondAndAHalfOfABurstsEnd) {
  Reports reports;
  reports.add(40, 90);
  reports.add(3, 30);
  EXPECT_GE(reports.rate.per_s(), 60);
  EXPECT_LE(reports.rate.per_s(), 63);
  // What is left of the way, a little more or less, is no change.
  reports.add(60, 30);
  EXPECT_LE(reports.rate.per_s(), 63);
}

TEST(ArrivalRate, WaitsTenSecondsWhereThreeFifthsStillCome) {
  Reports reports;
  reports.add(40, 100);
  const double high = reports.rate.per_s();
  reports.add(10, 62);
  EXPECT_EQ(reports.rate.per_s(), high);
  reports.add(30, 62);
  EXPECT_LE(reports.rate.per_s(), 131);
}

TEST(ArrivalRate, TakesTheBeginningOrTheEndOfASilenceForNoLull) {
  Reports reports;
  reports.add(40, 30);
  const double before = reports.rate.per_s();
  for (const std::uint32_t last : {29u, 12u, 5u, 1u}) {
    reports.add(last);
    reports.add(2, 0);
    reports.add(1, last);
    EXPECT_EQ(reports.rate.per_s(), before) << last;
    reports.add(40, 30);
  }
}

TEST(ArrivalRate, KeepsItsRateWhileNobodyAsks) {
  Reports reports;
  reports.add(40, 30);
  EXPECT_FALSE(reports.rate.silent(reports.now + seconds(5)));
  EXPECT_TRUE(reports.rate.silent(reports.now + seconds(5) + milliseconds(1)));
  const double before = reports.rate.per_s();
  reports.add(200, 0);
  EXPECT_EQ(reports.rate.per_s(), before);
  EXPECT_TRUE(reports.rate.silent(reports.now));
  reports.add(40, 30);
  EXPECT_EQ(reports.rate.per_s(), before);
  EXPECT_FALSE(reports.rate.silent(reports.now));
}

TEST(ArrivalRate, IsSilentBeforeTheFirstRequestAndIgnoresReportsOfNoTime) {
  ArrivalRate rate;
  EXPECT_TRUE(rate.silent(Time{}));
  RequestReport report;
  report.arrived = 1000;
  EXPECT_FALSE(rate.add(report));
  report.span = seconds(-1);
  EXPECT_FALSE(rate.add(report));
  EXPECT_EQ(rate.per_s(), 0);
}

// As clients report: half a second at a time while something comes, one more report, and then none.
struct RareReports {
  ArrivalRate rate;
  Time now = Time{} + seconds(1);
  std::uint64_t sequence = 0;
  int changes = 0;
  bool moved = false;

  void report(std::uint32_t arrived) {
    now += milliseconds(500);
    if (!std::exchange(moved, arrived > 0) && arrived == 0) return;
    RequestReport report;
    report.sequence = ++sequence;
    report.span = milliseconds(500);
    report.arrived = arrived;
    report.received = now;
    changes += rate.add(report);
  }
  // `requests` of them, one each so many seconds.
  void add(int requests, int every_s) {
    for (int i = 0; i < requests; ++i) {
      report(1);
      for (int j = 1; j < 2 * every_s; ++j) report(0);
    }
  }
};

TEST(ArrivalRate, CountsTheTimeInWhichNothingIsReported) {
  for (const int every_s : {2, 5, 10, 40}) {
    RareReports reports;
    reports.add(30, every_s);
    EXPECT_GE(reports.rate.per_s(), 0.95 / every_s) << every_s;
    EXPECT_LE(reports.rate.per_s(), 1.25 / every_s) << every_s;
    EXPECT_LE(reports.changes, 2) << every_s;
  }
}

TEST(ArrivalRate, CountsNoTimeOfWhichAReportWasLost) {
  RareReports whole, lost;
  whole.add(30, 1);
  lost.add(30, 1);
  EXPECT_EQ(whole.rate.per_s(), lost.rate.per_s());
  lost.sequence += 1;
  lost.now += seconds(15);
  const int before = lost.changes;
  lost.add(12, 1);
  EXPECT_EQ(lost.changes, before);
  whole.now += seconds(15);  // fifteen were due
  whole.add(12, 1);
  EXPECT_EQ(whole.rate.per_s(), lost.rate.per_s()) << "as many as may be missed by chance";
}

TEST(ArrivalRate, TakesTwoRareRequestsThatComeTogetherForNoBurst) {
  RareReports reports;
  reports.add(20, 20);
  const double before = reports.rate.per_s();
  reports.report(2);
  reports.report(1);
  EXPECT_EQ(reports.rate.per_s(), before);
  for (int i = 0; i < 4; ++i) reports.report(3);
  EXPECT_GE(reports.rate.per_s(), 4) << "but for twelve more";
}

TEST(ArrivalRate, IsSilentWhereTwentyAreMissed) {
  RareReports reports;
  reports.add(30, 10);
  const Time last = reports.now - milliseconds(9500);
  const double per_s = reports.rate.per_s();
  EXPECT_FALSE(reports.rate.silent(last + seconds(150)));
  EXPECT_FALSE(reports.rate.silent(last + milliseconds(std::llround(1000 * 20 / per_s) - 1)));
  EXPECT_TRUE(reports.rate.silent(last + milliseconds(std::llround(1000 * 20 / per_s) + 1)));
  RareReports rarer;
  rarer.add(30, 100);
  EXPECT_FALSE(rarer.rate.silent(rarer.now - milliseconds(99500) + seconds(600)));
  EXPECT_TRUE(rarer.rate.silent(rarer.now - milliseconds(99500) + seconds(601)));
}

}  // namespace
}  // namespace gearshift
