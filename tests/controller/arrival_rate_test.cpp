#include "controller/arrival_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

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

}  // namespace
}  // namespace gearshift
