#include "controller/duty_cycle.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kCap = 10'000;
constexpr Duration kPatience = seconds(3);
constexpr Duration kLag = seconds(5);
constexpr Duration kTick = milliseconds(100);

// Shows the same power for so long.
Time show(DutyCycle& duty, Time now, Duration span, std::optional<std::int64_t> power_mw,
          Duration answers_within = {}) {
  for (const Time end = now + span; now < end; now += kTick) {
    duty.update(now, power_mw.value_or(0) > kCap, power_mw, kCap, answers_within);
  }
  return now;
}

TEST(DutyCycle, WaitsForPatienceBeforeAnythingElseDoes) {
  DutyCycle duty(kPatience, kLag);
  const Time now = show(duty, Time{}, kPatience, 12'000);
  EXPECT_FALSE(duty.active());
  duty.update(now, true, 12'000, kCap, {});
  EXPECT_TRUE(duty.waits());
}

TEST(DutyCycle, AWindowWithinTheCapBeginsPatienceAgain) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience, 12'000);
  now = show(duty, now, kTick, kCap);
  show(duty, now, kPatience, 12'000);
  EXPECT_FALSE(duty.active());
}

TEST(DutyCycle, AWindowThatTheGuardLetsPassOverTheCapDoesNotBeginPatienceAgain) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience, 12'000);
  duty.update(now, false, 11'900, kCap, {});
  EXPECT_FALSE(duty.active());
  duty.update(now + kTick, true, 11'900, kCap, {});
  EXPECT_TRUE(duty.waits());
}

TEST(DutyCycle, PatienceIsASecondAtLeast) {
  DutyCycle duty(milliseconds(80), kLag);
  const Time now = show(duty, Time{}, seconds(1), 12'000);
  EXPECT_FALSE(duty.active());
  duty.update(now, true, 12'000, kCap, {});
  EXPECT_TRUE(duty.waits());
}

TEST(DutyCycle, RunsAgainOnceTheMeanIsBackAtTheCap) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  // 3 s of 2 W over the cap are owed: 6 s of 1 W below it.
  now = show(duty, now, seconds(5), 9'000);
  EXPECT_TRUE(duty.waits());
  now = show(duty, now, seconds(1), 9'000);
  EXPECT_TRUE(duty.active());
  EXPECT_FALSE(duty.waits());
}

TEST(DutyCycle, OwesAllThatAMinibatchDrawsBeforeTheWaitIsAnswered) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  now = show(duty, now, seconds(100), 12'000, seconds(101));
  EXPECT_FALSE(duty.stops_all());
  now = show(duty, now, seconds(40), 5'000);  // 200 of 206 J
  EXPECT_TRUE(duty.waits());
  show(duty, now, seconds(2), 5'000);
  EXPECT_FALSE(duty.waits());
}

TEST(DutyCycle, OwesNothingOfWhatIsDrawnWhileNobodyWorks) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + seconds(600), 12'000);
  // 25 of 26 J: the patience, and the sensor's lag behind training's pause and behind all others'.
  now = show(duty, now, seconds(5), 5'000);
  EXPECT_TRUE(duty.waits());
  show(duty, now, seconds(1), 5'000);
  EXPECT_FALSE(duty.waits());
}

// A run of which each window is within the cap has ten seconds to show that nothing is left of it.
TEST(DutyCycle, EndsAfterTenSecondsWithinTheCap) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  while (duty.waits()) now = show(duty, now, kTick, 1'000);
  now = show(duty, now, milliseconds(9'800), kCap);
  EXPECT_TRUE(duty.active());
  show(duty, now, 2 * kTick, kCap);
  EXPECT_FALSE(duty.active());
}

TEST(DutyCycle, ARunEndsWithTheFirstWindowOverTheCap) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  while (duty.waits()) now = show(duty, now, kTick, 1'000);
  duty.update(now, true, kCap + 1, kCap, {});
  EXPECT_TRUE(duty.waits());
}

TEST(DutyCycle, PowerThatIsNotKnownEndsARunAndNoWait) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  while (duty.waits()) now = show(duty, now, kTick, 1'000);
  now = show(duty, now, kTick, std::nullopt);
  EXPECT_TRUE(duty.waits());
  show(duty, now, seconds(60), std::nullopt);
  EXPECT_TRUE(duty.waits());
}

TEST(DutyCycle, WhoDoesNotBeginToWaitInTimeIsWaitedForNoLonger) {
  constexpr Duration kAnswersWithin = seconds(10);
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  now = show(duty, now, kAnswersWithin + kLag - 2 * kTick, 12'000, kAnswersWithin);
  EXPECT_FALSE(duty.stops_all());
  now = show(duty, now, kTick, 12'000, kAnswersWithin);
  EXPECT_TRUE(duty.stops_all());
  now = show(duty, now, kAnswersWithin + seconds(10) + kLag - 2 * kTick, 12'000, kAnswersWithin);
  EXPECT_FALSE(duty.fails()) << "those who were asked last may take as long";
  show(duty, now, kTick, 12'000, kAnswersWithin);
  EXPECT_TRUE(duty.fails());
}

TEST(DutyCycle, WhatIsOverTheCapWithoutTrainingStopsAll) {
  DutyCycle duty(kPatience, kLag);
  Time now = show(duty, Time{}, kPatience + kTick, 12'000);
  now = show(duty, now, kLag - kTick, 11'000);
  EXPECT_FALSE(duty.stops_all());
  now = show(duty, now, kTick, 11'000);
  EXPECT_TRUE(duty.stops_all());
  now = show(duty, now, seconds(10) + kLag - kTick, 11'000);
  EXPECT_FALSE(duty.fails());
  show(duty, now, kTick, 11'000);
  EXPECT_TRUE(duty.fails());
  duty.reset();
  EXPECT_FALSE(duty.active() || duty.stops_all() || duty.fails());
}

}  // namespace
}  // namespace gearshift
