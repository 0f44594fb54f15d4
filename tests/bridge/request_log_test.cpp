#include <gtest/gtest.h>

#include "bridge/client/gearshift_requests.hpp"

namespace gearshift::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(RequestLog, TellsTwiceASecondWhileRequestsComeAndOnceWhenTheyEnd) {
  RequestLog log(milliseconds(100), milliseconds(0));
  int reports = 0;
  for (milliseconds now{1}; now <= milliseconds(3000); ++now) {
    if (now < milliseconds(2000)) {
      log.arrived();
      log.answered(milliseconds(20));
    }
    reports += log.take_due(now, 0) ? 1 : 0;
  }
  EXPECT_EQ(reports, 5);  // four of the requests, and one that there are no more
}

TEST(RequestLog, TellsOfRequestsThatWaitOnly) {
  RequestLog log(milliseconds(100), milliseconds(0));
  log.arrived();
  ASSERT_TRUE(log.take_due(milliseconds(500), 1));
  EXPECT_FALSE(log.take_due(milliseconds(999), 1));
  const auto counts = log.take_due(milliseconds(1000), 1);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->queued, 1u);
  EXPECT_EQ(counts->arrived, 0u);
  EXPECT_EQ(counts->span, milliseconds(500));
}

TEST(RequestLog, TellsOfALateOneAtOnceButNotMoreThanTenTimesASecond) {
  RequestLog log(milliseconds(100), milliseconds(0));
  log.answered(milliseconds(100));  // in time
  EXPECT_FALSE(log.take_due(milliseconds(100), 0));
  log.answered(milliseconds(101));
  const auto counts = log.take_due(milliseconds(101), 0);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->late, 1u);
  EXPECT_EQ(counts->refused, 0u);
  log.refused();
  EXPECT_EQ(log.next_due(), milliseconds(201));
  EXPECT_FALSE(log.take_due(milliseconds(200), 0));
  const auto more = log.take_due(milliseconds(201), 0);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->late, 1u);
  EXPECT_EQ(more->refused, 1u);
  EXPECT_EQ(more->served, 0u);
}

TEST(RequestLog, TellsTheRestAtOnceWhereThereIsOne) {
  RequestLog log(milliseconds(100), milliseconds(0));
  EXPECT_FALSE(log.take_rest(milliseconds(700)));
  log.arrived();
  log.answered(milliseconds(20));
  const auto counts = log.take_rest(milliseconds(0));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->arrived, 1u);
  EXPECT_EQ(counts->served, 1u);
  EXPECT_EQ(counts->span, nanoseconds(1)) << "the least that there is";
  EXPECT_FALSE(log.take_rest(milliseconds(1)));
}

TEST(RequestLog, WhatEndsWithoutAnAnswerIsLateWhereItsTimeWasOver) {
  RequestLog log(milliseconds(100), milliseconds(0));
  for (int waited : {0, 100, 101}) log.ended(milliseconds(waited));
  const auto counts = log.take_due(milliseconds(500), 0);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->late, 1u);
  EXPECT_EQ(counts->refused, 1u);
  EXPECT_EQ(counts->served, 0u);
  RequestLog unlimited(nanoseconds(0), milliseconds(0));
  unlimited.arrived();
  unlimited.ended(std::chrono::hours(1));
  EXPECT_EQ(unlimited.take_due(milliseconds(500), 0)->late, 0u);
}

TEST(RequestLog, QuantilesAreThoseOfTheSpan) {
  RequestLog log(nanoseconds(0), milliseconds(0));
  for (int i = 100; i >= 1; --i) log.answered(milliseconds(i));
  const auto counts = log.take_due(milliseconds(500), 0);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->late, 0u);  // there is no limit
  EXPECT_EQ(counts->latency_p50, milliseconds(50));
  EXPECT_EQ(counts->latency_p95, milliseconds(95));
  EXPECT_EQ(counts->latency_p99, milliseconds(99));
  EXPECT_EQ(counts->latency_max, milliseconds(100));
  log.answered(milliseconds(7));
  const auto one = log.take_due(milliseconds(1000), 0);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->latency_p50, milliseconds(7));
  EXPECT_EQ(one->latency_p99, milliseconds(7));
  EXPECT_EQ(one->latency_max, milliseconds(7));
}

TEST(RequestLog, CountsMoreThanItKeeps) {
  RequestLog log(milliseconds(100), milliseconds(0));
  for (int i = 0; i < 20'000; ++i) log.answered(milliseconds(1));
  log.answered(milliseconds(99));
  const auto counts = log.take_due(milliseconds(500), 0);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->served, 20'001u);
  EXPECT_EQ(counts->latency_max, milliseconds(99));
}

}  // namespace
}  // namespace gearshift::client
