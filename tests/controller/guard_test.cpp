#include "controller/guard.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using fakes::kInstant;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kWindow = milliseconds(400);
constexpr Duration kStaleAfter = milliseconds(1000);

Reading power(Duration since, std::int64_t mw, ReadingState state = ReadingState::ok) {
  return {.quantity = Quantity::power, .state = state, .value = mw, .taken = at(since)};
}

Guard started(std::optional<std::int64_t> cap_mw) {
  Guard guard(kWindow, kStaleAfter);
  guard.start(at({}));
  guard.set_cap(cap_mw);
  return guard;
}

TEST(Guard, LetsPowerReachTheCapAndNotOneMilliwattMore) {
  Guard at_cap = started(30000);
  at_cap.add(power(milliseconds(100), 30000));
  EXPECT_EQ(at_cap.check(at(milliseconds(100))), Verdict::within);
  EXPECT_TRUE(at_cap.recovered(at(milliseconds(100))));

  Guard past_cap = started(30000);
  past_cap.add(power(milliseconds(100), 30001));
  EXPECT_EQ(past_cap.check(at(milliseconds(100))), Verdict::over);
  EXPECT_FALSE(past_cap.recovered(at(milliseconds(100))));
}

TEST(Guard, ForeseesABreachBehindASensorThatLagsAfterAChangeAlone) {
  for (const bool after_a_change : {true, false}) {
    Guard guard(milliseconds(100), kStaleAfter);
    guard.start(at({}));
    guard.set_cap(40000);
    if (after_a_change) guard.rises(at({}), at(milliseconds(800)));
    const std::int64_t rising[] = {20000, 24000, 27468, 30474};  // on its way to 50 W
    for (int i = 0; i < 4; ++i) guard.add(power(milliseconds(100 * i), rising[i]));
    EXPECT_EQ(guard.check(at(milliseconds(300))), after_a_change ? Verdict::over : Verdict::within);
    EXPECT_EQ(guard.power_mw(at(milliseconds(300))), 30474);
    EXPECT_EQ(*guard.judged_mw(at(milliseconds(300))) > 45000, after_a_change);
    guard.set_cap(50000);  // within what is known of it
    EXPECT_EQ(guard.check(at(milliseconds(300))), Verdict::within);
  }
}

// A search that was cut short by what readings were on their way to goes on at once, since their
// mean is within the cap: the next setting was cut by the same readings, and the one after it.
TEST(Guard, BlamesNothingForReadingsFromBeforeIt) {
  Guard guard(milliseconds(100), kStaleAfter);
  guard.start(at({}));
  guard.set_cap(40000);
  guard.rises(at({}), at(milliseconds(800)));
  const std::int64_t rising[] = {20000, 24000, 27468, 30474};
  for (int i = 0; i < 4; ++i) guard.add(power(milliseconds(100 * i), rising[i]));
  ASSERT_EQ(guard.check(at(milliseconds(310))), Verdict::over);

  guard.changes_at(at(milliseconds(310)));  // the step down
  EXPECT_FALSE(guard.recovered(at(milliseconds(320))));
  guard.rises(at(milliseconds(320)), at(milliseconds(1120)));  // something else is tried
  EXPECT_EQ(guard.check(at(milliseconds(320))), Verdict::within);
  EXPECT_EQ(guard.judged_mw(at(milliseconds(320))), 30474);

  guard.add(power(milliseconds(400), 33079));  // still on its way, now for what is tried
  EXPECT_TRUE(guard.recovered(at(milliseconds(400))));
  EXPECT_EQ(guard.check(at(milliseconds(400))), Verdict::over);
}

// Behind a mean of 400 ms, a change to 40 W at 2 s: readings are at 30 W when it is known.
TEST(Guard, ForeseesABreachBehindASensorThatAverages) {
  for (const std::int64_t cap_mw : {39000, 40001}) {
    Guard guard(kWindow, kStaleAfter, kWindow);
    guard.start(at({}));
    guard.set_cap(cap_mw);
    guard.changes_at(at({}));
    for (int i = 0; i <= 20; ++i) guard.add(power(milliseconds(100 * i), 20000));
    guard.changes_at(at(milliseconds(2000)));
    EXPECT_EQ(guard.changed(), at(milliseconds(2000)));
    guard.add(power(milliseconds(2100), 25000));
    EXPECT_EQ(guard.check(at(milliseconds(2100))), Verdict::within)
        << "one reading may be anything";
    guard.add(power(milliseconds(2200), 30000));
    const bool over = cap_mw < 40000;
    EXPECT_EQ(guard.check(at(milliseconds(2200))), over ? Verdict::over : Verdict::within);
    // Times are known to half a percent of the mean's length, which is 0.6 % of the step.
    EXPECT_NEAR(static_cast<double>(*guard.judged_mw(at(milliseconds(2200)))), over ? 40000 : 23750,
                over ? 250 : 2);
    EXPECT_LT(*guard.power_mw(at(milliseconds(2200))), 25000);
  }
}

// Readings of 0.4 W at most off; a change at 2 s to what they show from 2.4 s on.
Guard doubtful(bool doubts, std::int64_t cap_mw, std::int64_t shown_mw, int until_ms) {
  Guard guard(kWindow, kStaleAfter, kWindow, 400);
  guard.start(at({}));
  guard.set_cap(cap_mw);
  guard.changes_at(at({}));
  for (int i = 0; i <= 20; ++i) guard.add(power(milliseconds(100 * i), 20000));
  guard.doubt(doubts);
  guard.changes_at(at(milliseconds(2000)));
  for (int ms = 2050; ms <= until_ms; ms += 50) {
    guard.add(power(milliseconds(ms), 20000 + (shown_mw - 20000) * std::min(ms - 2000, 400) / 400));
  }
  return guard;
}

TEST(Guard, TakesWhatStepsMayHideForPowerWhereASettingIsInDoubt) {
  constexpr std::int64_t kCapMw = 30000;
  for (const bool doubts : {false, true}) {
    const Verdict verdict = doubts ? Verdict::over : Verdict::within;
    for (const int ms : {2200, 2400, 2700, 3000, 9000}) {
      const Guard close = doubtful(doubts, kCapMw, 29800, ms);
      EXPECT_EQ(close.check(at(milliseconds(ms))), verdict) << ms;
      EXPECT_EQ(doubtful(doubts, kCapMw, 28500, ms).check(at(milliseconds(ms))), Verdict::within)
          << ms;
    }
    // Once the mean is through, by exactly as much as a reading may be off.
    EXPECT_EQ(doubtful(doubts, kCapMw, 29600, 3500).check(at(milliseconds(3500))), Verdict::within);
    EXPECT_EQ(doubtful(doubts, kCapMw, 29601, 3500).check(at(milliseconds(3500))), verdict);
    // Before two intervals of a sensor nothing is said, and readings are wanted until then.
    const Guard early = doubtful(doubts, kCapMw, 29800, 2150);
    EXPECT_EQ(early.check(at(milliseconds(2150))), Verdict::within);
    EXPECT_EQ(early.wants_readings(at(milliseconds(2150))), doubts);
    EXPECT_EQ(early.wants_readings(at(milliseconds(2260))), doubts);
    EXPECT_FALSE(early.wants_readings(at(milliseconds(2261))));
  }
  Guard uncapped = doubtful(true, kCapMw, 29800, 2150);
  uncapped.set_cap(std::nullopt);
  EXPECT_FALSE(uncapped.wants_readings(at(milliseconds(2150))));
}

TEST(Guard, IsNotClearBeforeTheLastOfWhatMixesReadings) {
  Guard guard = started(30000);
  EXPECT_TRUE(guard.clear(at(milliseconds(100))));
  guard.clears_at(at(milliseconds(400)));
  guard.clears_at(at(milliseconds(300)));
  EXPECT_FALSE(guard.clear(at(milliseconds(400) - kInstant)));
  EXPECT_TRUE(guard.clear(at(milliseconds(400))));
}

TEST(Guard, JudgesTheWindowAndNotOneReading) {
  Guard guard = started(30000);
  for (int i = 1; i <= 3; ++i) guard.add(power(milliseconds(100 * i), 20000));
  guard.add(power(milliseconds(400), 60000));  // mean 30 W
  EXPECT_EQ(guard.check(at(milliseconds(400))), Verdict::within);
  guard.add(power(milliseconds(500), 20004));  // mean 30.001 W
  EXPECT_EQ(guard.check(at(milliseconds(500))), Verdict::over);
  EXPECT_EQ(guard.power_mw(at(milliseconds(500))), 30001);
}

TEST(Guard, SeesNoCapNowhereOver) {
  Guard guard = started(std::nullopt);
  guard.add(power(milliseconds(100), 1000000));
  EXPECT_EQ(guard.check(at(milliseconds(100))), Verdict::within);
  EXPECT_TRUE(guard.recovered(at(milliseconds(100))));
}

TEST(Guard, JudgesANewCapByTheReadingsItHas) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(100), 25000));
  EXPECT_EQ(guard.check(at(milliseconds(100))), Verdict::within);
  guard.set_cap(20000);
  EXPECT_EQ(guard.check(at(milliseconds(100))), Verdict::over);
  guard.set_cap(std::nullopt);
  EXPECT_EQ(guard.check(at(milliseconds(100))), Verdict::within);
}

TEST(Guard, CountsStalenessFromTheStartUntilTheFirstReading) {
  const Guard guard = started(30000);
  EXPECT_EQ(guard.check(at(kStaleAfter)), Verdict::within);
  EXPECT_EQ(guard.check(at(kStaleAfter + kInstant)), Verdict::power_unknown);
}

TEST(Guard, CallsPowerUnknownOnlyPastTheStaleLimit) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(500), 20000));
  EXPECT_EQ(guard.check(at(milliseconds(500) + kStaleAfter)), Verdict::within);
  EXPECT_EQ(guard.check(at(milliseconds(500) + kStaleAfter + kInstant)), Verdict::power_unknown);
}

// Without a cap too: nothing may be measured while power cannot be read.
TEST(Guard, CallsPowerUnknownWithoutACap) {
  const Guard guard = started(std::nullopt);
  EXPECT_EQ(guard.check(at(kStaleAfter + kInstant)), Verdict::power_unknown);
  EXPECT_FALSE(guard.recovered(at(kStaleAfter + kInstant)));
}

TEST(Guard, PutsUnknownPowerBeforeOver) {
  Guard guard(std::chrono::seconds(5), kStaleAfter);
  guard.start(at({}));
  guard.set_cap(10000);
  guard.add(power(milliseconds(100), 20000));
  EXPECT_EQ(guard.check(at(milliseconds(100) + kStaleAfter)), Verdict::over);
  EXPECT_EQ(guard.check(at(milliseconds(100) + kStaleAfter + kInstant)), Verdict::power_unknown);
}

TEST(Guard, TakesNoComfortFromMissingOrAbsurdReadings) {
  for (const ReadingState bad : {ReadingState::missing, ReadingState::absurd}) {
    Guard guard = started(30000);
    guard.add(power({}, 20000));
    for (int i = 1; i <= 10; ++i) guard.add(power(milliseconds(100 * i), 1, bad));
    EXPECT_EQ(guard.check(at(kStaleAfter)), Verdict::within);
    EXPECT_EQ(guard.power_mw(at(milliseconds(100))), 20000) << "a bad value does not enter";
    guard.add(power(kStaleAfter + kInstant, 1, bad));
    EXPECT_EQ(guard.check(at(kStaleAfter + kInstant)), Verdict::power_unknown);
  }
}

TEST(Guard, TakesNoAlarmFromAnAbsurdReading) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(100), 20000));
  guard.add(power(milliseconds(200), 655350000, ReadingState::absurd));
  EXPECT_EQ(guard.check(at(milliseconds(200))), Verdict::within);
}

TEST(Guard, LooksAtWholeBoardPowerOnly) {
  Guard guard = started(30000);
  Reading rail = power(milliseconds(100), 90000);
  rail.quantity = Quantity::rail_power;
  guard.add(rail);
  Reading heat = power(milliseconds(100), 90000);
  heat.quantity = Quantity::temperature;
  guard.add(heat);
  EXPECT_EQ(guard.power_mw(at(milliseconds(100))), std::nullopt);
  EXPECT_EQ(guard.check(at(milliseconds(100))), Verdict::within);
  EXPECT_EQ(guard.check(at(kStaleAfter + kInstant)), Verdict::power_unknown);
}

TEST(Guard, FindsPowerAgainWithOneGoodReading) {
  Guard guard = started(30000);
  EXPECT_EQ(guard.check(at(milliseconds(5000))), Verdict::power_unknown);
  guard.add(power(milliseconds(5000), 20000));
  EXPECT_EQ(guard.check(at(milliseconds(5000))), Verdict::within);
  EXPECT_TRUE(guard.recovered(at(milliseconds(5000))));
}

// A reading delivered late must not make newer ones look old.
TEST(Guard, KeepsTheNewestTimeWhenAnOlderReadingArrives) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(900), 20000));
  guard.add(power(milliseconds(100), 20000));
  EXPECT_EQ(guard.check(at(milliseconds(900) + kStaleAfter)), Verdict::within);
}

TEST(Guard, JudgesAgainFromTheTimeItIsRearmed) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(900), 40000));
  guard.rearm_at(at(milliseconds(1000)));
  EXPECT_EQ(guard.check(at(milliseconds(1000) - kInstant)), Verdict::within);
  EXPECT_FALSE(guard.recovered(at(milliseconds(1000) - kInstant)))
      << "not judged is not the same as recovered";
  EXPECT_EQ(guard.check(at(milliseconds(1000))), Verdict::over);
}

TEST(Guard, SeesStalenessEvenBeforeItIsRearmed) {
  Guard guard = started(30000);
  guard.rearm_at(at(milliseconds(60000)));
  EXPECT_EQ(guard.check(at(kStaleAfter + kInstant)), Verdict::power_unknown);
}

// A total of several rails that block comes every 1.3 s: it is power until the next.
TEST(Guard, TakesTheNewestReadingForPowerUntilTheNextOrUntilItIsStale) {
  Guard guard = started(30000);
  EXPECT_EQ(guard.power_mw(at(milliseconds(50))), std::nullopt);
  guard.add(power(milliseconds(100), 20000));
  guard.add(power(milliseconds(500), 40000));
  EXPECT_EQ(guard.power_mw(at(milliseconds(500) + kWindow)), 40000);
  EXPECT_EQ(guard.highest_newest_mw(at(milliseconds(500) + kWindow)), 40000);
  EXPECT_EQ(guard.check(at(milliseconds(500) + kWindow)), Verdict::over);
  EXPECT_EQ(guard.power_mw(at(milliseconds(500) + kStaleAfter)), 40000);
  EXPECT_EQ(guard.power_mw(at(milliseconds(500) + kStaleAfter + kInstant)), std::nullopt);
}

// A step down would be followed by another one otherwise, for what was drawn before it.
TEST(Guard, JudgesNothingByAReadingThatIsOlderThanAWindowAndOfWhatWasBefore) {
  for (const bool averages : {false, true}) {
    Guard guard(kWindow, kStaleAfter, averages ? kWindow : Duration{});
    guard.start(at({}));
    guard.set_cap(30000);
    guard.changes_at(at(milliseconds(200)));
    guard.add(power(averages ? milliseconds(599) : milliseconds(199), 40000));
    EXPECT_EQ(guard.check(at(milliseconds(1100))), Verdict::within);
    EXPECT_FALSE(guard.recovered(at(milliseconds(1100))));
    EXPECT_EQ(guard.power_mw(at(milliseconds(1100))), 40000) << "it is all that is known";
    guard.add(power(milliseconds(600), 40000));
    EXPECT_EQ(guard.check(at(milliseconds(1100))), Verdict::over);
  }
}

// Power that is only slow to come is not known to be within the cap.
TEST(Guard, HasNotRecoveredWhenTheWindowIsEmpty) {
  Guard guard = started(30000);
  guard.add(power(milliseconds(100), 20000));
  EXPECT_TRUE(guard.recovered(at(milliseconds(100) + kWindow - kInstant)));
  EXPECT_FALSE(guard.recovered(at(milliseconds(100) + kWindow)));
  EXPECT_EQ(guard.check(at(milliseconds(100) + kWindow)), Verdict::within);
}

}  // namespace
}  // namespace gearshift
