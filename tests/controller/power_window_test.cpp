#include "controller/power_window.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr Duration kLength = milliseconds(400);

Time at(Duration since) { return Time{} + std::chrono::seconds(100) + since; }

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

TEST(PowerWindow, DoesNotOverflowOnAbsurdlyLargeReadings) {
  PowerWindow window(std::chrono::seconds(10));
  constexpr std::int64_t kMegawattMw = 1'000'000'000;
  for (int i = 1; i <= 256; ++i) window.add(power(milliseconds(i), kMegawattMw));
  EXPECT_EQ(window.mean_mw(at(milliseconds(256))), kMegawattMw);
}

}  // namespace
}  // namespace gearshift
