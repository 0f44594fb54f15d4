#include "controller/power_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "tests/fakes/since_start.h"

namespace gearshift {
namespace {

using fakes::at;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kLength = milliseconds(400);

Reading power(Duration since, std::int64_t mw) {
  return {.quantity = Quantity::power, .state = ReadingState::ok, .value = mw, .taken = at(since)};
}

TEST(PowerWindow, KnowsNothingWithoutAReading) {
  const PowerWindow window(kLength);
  EXPECT_TRUE(window.empty());
  EXPECT_EQ(window.mean_mw(at({})), std::nullopt);
  EXPECT_EQ(window.length(), kLength);
}

TEST(PowerWindow, MeansTheReadingsOfTheLastWindow) {
  PowerWindow window(kLength);
  window.add(power(milliseconds(100), 10000));
  window.add(power(milliseconds(200), 20000));
  window.add(power(milliseconds(300), 60000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(300))), 30000);
  EXPECT_EQ(window.newest(), at(milliseconds(300)));
}

TEST(PowerWindow, EndsWithTheReadingOfItsVeryEnd) {
  PowerWindow window(kLength);
  window.add(power(milliseconds(100), 10000));
  window.add(power(milliseconds(200), 20000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(200))), 15000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(200) - nanoseconds(1))), 10000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(100) - nanoseconds(1))), std::nullopt);
}

TEST(PowerWindow, BeginsAfterTheReadingOneLengthBeforeItsEnd) {
  PowerWindow window(kLength);
  window.add(power(milliseconds(100), 10000));
  window.add(power(milliseconds(200), 20000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(500) - nanoseconds(1))), 15000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(500))), 20000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(600) - nanoseconds(1))), 20000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(600))), std::nullopt) << "all that is known is old";
}

// Two adjacent windows share no reading and leave none out.
TEST(PowerWindow, CanLookBackAtTheWindowBefore) {
  PowerWindow window(kLength);
  for (int i = 1; i <= 8; ++i) window.add(power(milliseconds(100 * i), i <= 4 ? 10000 : 30000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(800))), 30000);
  EXPECT_EQ(window.mean_mw(at(milliseconds(400))), 10000);
}

TEST(PowerWindow, IgnoresAReadingThatIsNotNewer) {
  PowerWindow window(kLength);
  window.add(power(milliseconds(100), 10000));
  window.add(power(milliseconds(100), 90000));
  window.add(power(milliseconds(50), 90000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(100))), 10000);
  window.add(power(milliseconds(100) + nanoseconds(1), 20000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(101))), 15000);
}

TEST(PowerWindow, ForgetsWhatItIsToldTo) {
  PowerWindow window(kLength);
  window.add(power(milliseconds(100), 10000));
  window.clear();
  EXPECT_TRUE(window.empty());
  EXPECT_EQ(window.mean_mw(at(milliseconds(100))), std::nullopt);
  window.add(power(milliseconds(50), 20000));
  EXPECT_EQ(window.mean_mw(at(milliseconds(100))), 20000) << "an earlier reading is new again";
}

TEST(PowerWindow, HoldsItsMostReadingsWithoutThinning) {
  PowerWindow window(std::chrono::seconds(10));
  for (int i = 1; i <= 256; ++i) window.add(power(milliseconds(i), i == 1 ? 256000 : 0));
  EXPECT_EQ(window.mean_mw(at(milliseconds(256))), 1000);
}

TEST(PowerWindow, DropsTheOldestReadingPastItsMost) {
  PowerWindow window(std::chrono::seconds(10));
  for (int i = 1; i <= 257; ++i) window.add(power(milliseconds(i), i == 1 ? 256000 : 512));
  EXPECT_EQ(window.mean_mw(at(milliseconds(257))), 512);
  EXPECT_EQ(window.newest(), at(milliseconds(257)));
}

// A daemon that runs for days goes round the ring many times.
TEST(PowerWindow, KeepsItsOrderWhenTheRingHasGoneRound) {
  PowerWindow window(milliseconds(4));
  for (int i = 1; i <= 5 * 256 + 37; ++i) window.add(power(milliseconds(i), i));
  const int last = 5 * 256 + 37;
  // The last four: last - 3 to last, whose mean is last - 1.5.
  EXPECT_EQ(window.mean_mw(at(milliseconds(last))), last - 2);
  EXPECT_EQ(window.mean_mw(at(milliseconds(last - 4))), last - 6);
  EXPECT_EQ(window.newest(), at(milliseconds(last)));
}

// 0.7 s behind, a reading every 100 ms.
TEST(PowerWindow, ForeseesWhereASensorThatLagsIsOnItsWayTo) {
  PowerWindow window(milliseconds(100));
  std::optional<std::int64_t> first;
  int readings = 0;
  for (int i = 0; i <= 20 && !first; ++i) {
    const double mw = 50'000 - 30'000 * std::exp(-i / 7.0);
    window.add(power(milliseconds(100 * i), std::llround(mw)));
    first = window.settling_mw(at(milliseconds(100 * i)));
    readings = i;
  }
  ASSERT_TRUE(first);
  EXPECT_NEAR(static_cast<double>(*first), 50'000, 100);
  EXPECT_EQ(readings, 3);  // at 30 W
}

TEST(PowerWindow, ForeseesNothingOfAStepARampAFallAndNoise) {
  const std::vector<std::vector<std::int64_t>> cases = {
      {20'000, 20'000, 50'000, 50'000, 50'000},
      {20'000, 27'000, 34'000, 41'000, 48'000, 50'000, 50'000},
      {50'000, 46'000, 43'000, 41'000},
      {30'000, 30'600, 29'700, 30'500, 30'900},
      {30'000, 30'500, 30'900, 31'200},  // by less than 4 %
  };
  for (const auto& values : cases) {
    PowerWindow window(milliseconds(100));
    int i = 0;
    for (const std::int64_t mw : values) {
      window.add(power(milliseconds(100 * i), mw));
      EXPECT_EQ(window.settling_mw(at(milliseconds(100 * i))), std::nullopt) << mw;
      ++i;
    }
  }
}

enum class Response { truth, mean, lag };

// What a sensor shows of a change from one power to another, `s` seconds after it.
double responded(Response response, double from, double to, double s) {
  if (s <= 0) return from;
  if (response == Response::mean) return from + (to - from) * std::min(1.0, s / 0.43);
  return response == Response::lag ? to - (to - from) * std::exp(-s / 0.7) : to;
}

// Whether readings of a change that stays below the cap look as if it would not.
bool foresees_a_breach(Response response, double from, double to, double noise,
                       std::mt19937_64& dice) {
  const auto uniform = [&dice] { return static_cast<double>(dice() >> 11) * 0x1p-53; };
  constexpr double kCapMw = 40'000;
  PowerWindow window(milliseconds(100));
  for (int i = -3; i < 24; ++i) {
    double normal = -6;
    for (int term = 0; term < 12; ++term) normal += uniform();
    const double mw = kCapMw * responded(response, from, to, 0.1 * i) * (1 + noise * normal);
    if (mw > kCapMw) return false;  // the reading itself is over
    const Duration taken = milliseconds(100 * (i + 3));
    window.add(power(taken, std::llround(mw)));
    const auto settling = window.settling_mw(at(taken));
    if (settling && static_cast<double>(*settling) > 1.02 * kCapMw) return true;
  }
  return false;
}

// The bound that docs/enforcement.md states, on changes to settings that fit.
TEST(PowerWindow, NoiseSeldomLooksLikeTheWayToABreach) {
  constexpr int kChanges = 4000;
  for (const double noise : {0.005, 0.02}) {
    for (const Response response : {Response::truth, Response::mean, Response::lag}) {
      std::mt19937_64 dice(1);
      const auto uniform = [&dice] { return static_cast<double>(dice() >> 11) * 0x1p-53; };
      int found = 0;
      for (int i = 0; i < kChanges; ++i) {
        const double from = 0.4 + 0.4 * uniform();
        const double to = from + (0.94 - from) * uniform();
        found += foresees_a_breach(response, from, to, noise, dice) ? 1 : 0;
      }
      const double percent = 100.0 * found / kChanges;
      std::printf("  noise %.1f %%, %s: %.3f %% of changes\n", 100 * noise,
                  response == Response::truth  ? "truth"
                  : response == Response::mean ? "mean"
                                               : "lag",
                  percent);
      EXPECT_LT(percent, response == Response::mean ? 1 : 0.1);
    }
  }
}

TEST(PowerWindow, DoesNotOverflowOnAbsurdlyLargeReadings) {
  PowerWindow window(std::chrono::seconds(10));
  constexpr std::int64_t kMegawattMw = 1'000'000'000;
  for (int i = 1; i <= 256; ++i) window.add(power(milliseconds(i), kMegawattMw));
  EXPECT_EQ(window.mean_mw(at(milliseconds(256))), kMegawattMw);
}

TEST(PowerWindow, KnowsWhatBeganWithinItByTheNewestReadings) {
  PowerWindow window(kLength);
  EXPECT_EQ(window.highest_newest_mw(at({})), std::nullopt);
  window.add(power(milliseconds(100), 50000));
  window.add(power(milliseconds(200), 10000));
  window.add(power(milliseconds(300), 17000));
  window.add(power(milliseconds(400), 19000));
  EXPECT_EQ(window.highest_newest_mw(at(milliseconds(400))), 24000) << "of all four";
  EXPECT_EQ(window.highest_newest_mw(at(milliseconds(300) + kLength)), 19000);
  EXPECT_EQ(window.highest_newest_mw(at(milliseconds(500))), 19000) << "the first has left it";
  EXPECT_EQ(window.highest_newest_mw(at(milliseconds(350))), 25666) << "the last is not read yet";
}

}  // namespace
}  // namespace gearshift
