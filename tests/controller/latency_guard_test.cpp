#include "controller/latency_guard.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RequestReport report(Time received, Duration p99, std::uint32_t late = 0) {
  RequestReport report;
  report.received = received;
  report.span = milliseconds(500);
  report.arrived = report.served = 30;
  report.latency_p99 = p99;
  report.late = late;
  return report;
}

TEST(LatencyGuard, IsNearJustBelowTheLimit) {
  LatencyGuard guard;
  guard.set_limit(milliseconds(200));
  guard.add(report(Time{} + seconds(1), milliseconds(196)));
  EXPECT_FALSE(guard.near());
  guard.add(report(Time{} + seconds(2), milliseconds(196) + Duration(1)));
  EXPECT_TRUE(guard.near());
  guard.add(report(Time{} + seconds(3), milliseconds(100)));
  EXPECT_TRUE(guard.near()) << "a good report in the same tick excuses nothing";
  guard.rearm_at(Time{} + seconds(3));
  guard.add(report(Time{} + seconds(4), milliseconds(100)));
  EXPECT_FALSE(guard.near());
}

TEST(LatencyGuard, OneLateRequestIsEnough) {
  LatencyGuard guard;
  guard.set_limit(milliseconds(200));
  guard.add(report(Time{} + seconds(1), milliseconds(20), 1));
  EXPECT_TRUE(guard.near());
}

TEST(LatencyGuard, WithoutALimitNothingIsNear) {
  LatencyGuard guard;
  guard.add(report(Time{} + seconds(1), seconds(100), 30));
  EXPECT_FALSE(guard.near());
  EXPECT_TRUE(guard.recovered(Time{}));
}

TEST(LatencyGuard, AfterAStepReportsThatBeganBeforeItAreNotJudged) {
  LatencyGuard guard;
  guard.set_limit(milliseconds(200));
  guard.add(report(Time{} + seconds(1), milliseconds(300), 5));
  guard.rearm_at(Time{} + seconds(2));
  EXPECT_FALSE(guard.near());
  guard.add(report(Time{} + milliseconds(2499), milliseconds(300), 5));
  EXPECT_FALSE(guard.near());
  EXPECT_FALSE(guard.recovered(Time{} + milliseconds(2499)));
  guard.add(report(Time{} + milliseconds(2500), milliseconds(300), 5));
  EXPECT_TRUE(guard.near());
  EXPECT_FALSE(guard.recovered(Time{} + milliseconds(2500)));
  guard.rearm_at(Time{} + milliseconds(2500));
  guard.add(report(Time{} + seconds(3), milliseconds(100)));
  EXPECT_TRUE(guard.recovered(Time{} + seconds(3)));
}

TEST(LatencyGuard, HasRecoveredWhereNobodyAsksAnyMore) {
  LatencyGuard guard;
  guard.set_limit(milliseconds(200));
  guard.add(report(Time{} + seconds(1), milliseconds(300), 5));
  guard.rearm_at(Time{} + seconds(2));
  EXPECT_FALSE(guard.recovered(Time{} + seconds(4)));
  EXPECT_TRUE(guard.recovered(Time{} + seconds(4) + Duration(1)));
}

}  // namespace
}  // namespace gearshift
