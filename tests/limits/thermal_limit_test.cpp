#include "limits/thermal_limit.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gearshift {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kLimitC = 80;
constexpr double kCPerW = 0.9;
constexpr double kAmbientC = 45;

// A board that draws what it is let, 50 W at most, in a housing of 0.9 K/W and 60 s.
class ThermalLimitTest : public testing::Test {
 protected:
  void read(double temperature_c, ReadingState state = ReadingState::ok) {
    limit_.read({.quantity = Quantity::temperature,
                 .state = state,
                 .channel = 0,
                 .value = std::llround(1000 * temperature_c),
                 .taken = now_});
  }
  void read_power() {
    limit_.read({.quantity = Quantity::power,
                 .state = ReadingState::ok,
                 .value = std::llround(1000 * power_w_),
                 .taken = now_});
  }
  std::optional<std::int64_t> tick(double wants_w, ReadingState state = ReadingState::ok) {
    const auto cap = limit_.power_mw(now_);
    power_w_ = cap ? std::min(wants_w, static_cast<double>(*cap) / 1000) : wants_w;
    const double settled = ambient_c_ + c_per_w_ * power_w_;
    temperature_c_ = settled + std::exp(-0.1 / 60) * (temperature_c_ - settled);
    now_ += milliseconds(100);
    read_power();
    read(temperature_c_, state);
    return limit_.power_mw(now_);
  }
  void run(double wants_w, int for_s) {
    for (int i = 0; i < 10 * for_s; ++i) tick(wants_w);
  }

  // In cooler surroundings, with a worse housing.
  void restart() {
    ambient_c_ = temperature_c_ = 25;
    c_per_w_ = 1.1;
    limit_ = ThermalLimit({.zones = {{0, kLimitC}}});
  }

  // One sample far above what the zone had for ten minutes.
  void leap_after_calm() {
    run(10, 120);
    run(25, 600);
    now_ += milliseconds(100);
    read(127);
  }

  // Five minutes at much power and two at little, again and again; the hottest of it, C.
  double turns(int count) {
    double hottest_c = 0;
    for (int i = 0; i < count * 4200; ++i) {
      tick(i % 4200 < 3000 ? 70 : 20);
      hottest_c = std::max(hottest_c, temperature_c_);
    }
    return hottest_c;
  }

  Time now_{};
  double ambient_c_ = kAmbientC;
  double c_per_w_ = kCPerW;
  double temperature_c_ = kAmbientC;
  double power_w_ = 0;
  ThermalLimit limit_{{.zones = {{0, kLimitC}}}};
};

TEST_F(ThermalLimitTest, KeepsTheZoneBelowItsLimitAndTheBoardNearWhatItAllows) {
  run(10, 60);
  double hottest_c = 0;
  for (int i = 0; i < 12'000; ++i) {
    tick(50);
    hottest_c = std::max(hottest_c, temperature_c_);
  }
  EXPECT_LT(hottest_c, kLimitC + 0.5);
  const double allowed_w = (kLimitC - kAmbientC) / kCPerW;  // 38.9
  EXPECT_GT(power_w_, 0.93 * allowed_w);
  EXPECT_LE(power_w_, 1.01 * allowed_w);
}

// No idle time tells it how the zone answers: only that it warms up.
TEST_F(ThermalLimitTest, KeepsAColdBoardThatStartsAtFullPowerBelowItsTrip) {
  double hottest_c = 0;
  for (int i = 0; i < 12'000; ++i) {
    tick(50);
    hottest_c = std::max(hottest_c, temperature_c_);
  }
  EXPECT_LT(hottest_c, kLimitC + 2);
}

TEST_F(ThermalLimitTest, SaysNothingWhereTheBoardNeverDrawsSoMuch) {
  run(10, 60);
  run(25, 600);
  run(10, 60);
  EXPECT_EQ(limit_.power_mw(now_), std::nullopt);
}

TEST_F(ThermalLimitTest, TheCapIsNotMovedByEveryDegree) {
  run(10, 60);
  run(50, 600);
  std::optional<std::int64_t> before = limit_.power_mw(now_);
  int changes = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto cap = tick(50);
    if (cap != before) ++changes;
    before = cap;
  }
  EXPECT_LE(changes, 10);  // in ten minutes
}

TEST_F(ThermalLimitTest, AZoneThatIsNotReadIsDangerAfterTenSeconds) {
  run(10, 60);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(tick(10, ReadingState::missing), std::nullopt);
  for (int i = 0; i < 20; ++i) tick(10, ReadingState::absurd);
  EXPECT_EQ(limit_.power_mw(now_), 2);
  run(0.002, 2);
  EXPECT_EQ(limit_.power_mw(now_), std::nullopt);
}

TEST_F(ThermalLimitTest, OneThatNeverTellsIsDangerToo) {
  for (int i = 0; i < 130; ++i) tick(10, ReadingState::missing);
  EXPECT_EQ(limit_.power_mw(now_), 2);
}

TEST_F(ThermalLimitTest, OneThatMayBeADummyIsDangerOnceItHasToldATemperature) {
  limit_ = ThermalLimit({.zones = {{.limit_c = kLimitC, .may_be_dummy = true}}});
  for (int i = 0; i < 600; ++i) tick(30, i % 2 == 0 ? ReadingState::absurd : ReadingState::missing);
  for (int i = 0; i < 600; ++i) {
    now_ += milliseconds(100);
    read(0);
    EXPECT_FALSE(limit_.power_mw(now_));
  }
  tick(30);
  for (int i = 0; i < 120; ++i) tick(30, ReadingState::missing);
  EXPECT_EQ(limit_.power_mw(now_), kLowestModeMw);
}

TEST_F(ThermalLimitTest, ABlockThatIsPoweredDownHasNoTemperature) {
  run(10, 60);
  for (int i = 0; i < 600; ++i) tick(10, ReadingState::off);
  EXPECT_EQ(limit_.power_mw(now_), std::nullopt);
}

// Zero, and what no board cools down to so fast, is a failed sensor's word.
TEST_F(ThermalLimitTest, AFallToZeroIsNeverBelievedAndADeepOneNotAtOnce) {
  run(10, 60);
  run(40, 120);
  const auto reads = [this](double temperature_c, int for_s) {
    for (int i = 0; i < 10 * for_s; ++i) {
      now_ += milliseconds(100);
      read(temperature_c);
      limit_.power_mw(now_);
    }
    return limit_.power_mw(now_);
  };
  EXPECT_EQ(reads(0, 600), 2);
  EXPECT_GT(reads(temperature_c_, 2).value_or(99'000), 10'000);
  EXPECT_EQ(reads(temperature_c_ - 30, 15), 2);
  EXPECT_GT(reads(temperature_c_ - 30, 30).value_or(99'000), 10'000);
}

// At 67 C and 25 W, learnt: one sample of 127 C between two that are none.
TEST_F(ThermalLimitTest, OneGlitchHoldsTheLowestModeForSeconds) {
  run(10, 120);
  run(25, 600);
  ASSERT_EQ(limit_.power_mw(now_), std::nullopt);
  now_ += milliseconds(100);
  read(127);
  int held = 0;
  for (int i = 0; i < 1500; ++i) {
    if (tick(25) == 2) ++held;
  }
  EXPECT_GE(held, 10) << "what is hot counts at once";
  EXPECT_LE(held, 30) << "tenths of a second";
  EXPECT_EQ(limit_.power_mw(now_), std::nullopt);
}

// Another that sees the same, but no glitch, says the same ever after.
TEST_F(ThermalLimitTest, AGlitchIsNotLearnt) {
  ThermalLimit other({.zones = {{0, kLimitC}}});
  const auto take = [&](Quantity quantity, double value, double shown_to_other) {
    Reading reading{.quantity = quantity,
                    .state = ReadingState::ok,
                    .value = std::llround(1000 * value),
                    .taken = now_};
    limit_.read(reading);
    reading.value = std::llround(1000 * shown_to_other);
    other.read(reading);
  };
  constexpr int kGlitch = 6009;
  int capped = 0;
  for (int i = 0; i < 12'000; ++i) {
    const double power_w = i < 6200 ? 25.0 + 2 * (i / 600 % 2) : 45.0;
    temperature_c_ += (kAmbientC + kCPerW * power_w - temperature_c_) * 0.1 / 60;
    now_ += milliseconds(100);
    take(Quantity::power, power_w, power_w);
    take(Quantity::temperature, i == kGlitch ? 127 : temperature_c_, temperature_c_);
    const auto cap = limit_.power_mw(now_);
    const auto others = other.power_mw(now_);
    if (i < kGlitch || i > kGlitch + 50) {
      ASSERT_EQ(cap, others) << i;
    }
    if (cap) ++capped;
  }
  EXPECT_GT(capped, 1000);
}

TEST_F(ThermalLimitTest, AGlitchLeavesTheCapThatHeatHadSet) {
  run(10, 120);
  run(50, 900);
  const auto before = limit_.power_mw(now_);
  ASSERT_TRUE(before);
  now_ += milliseconds(100);
  read(127);
  run(50, 1);
  EXPECT_EQ(limit_.power_mw(now_), 2);
  run(50, 2);
  EXPECT_NEAR(static_cast<double>(limit_.power_mw(now_).value_or(0)), static_cast<double>(*before),
              1500);
}

TEST_F(ThermalLimitTest, ARiseThatASecondSampleBearsOutIsNoGlitch) {
  leap_after_calm();
  now_ += milliseconds(100);
  read(127);
  run(25, 60);
  EXPECT_EQ(limit_.power_mw(now_), 2);
}

TEST_F(ThermalLimitTest, NorIsOneThatFallsToWhereItNeverWas) {
  leap_after_calm();
  for (int i = 0; i < 200; ++i) {
    now_ += milliseconds(100);
    read(temperature_c_ - 20);
    limit_.power_mw(now_);
  }
  EXPECT_EQ(limit_.power_mw(now_), 2);
}

TEST_F(ThermalLimitTest, ASampleThatIsShownTwiceIsStillOne) {
  leap_after_calm();
  read(127);
  run(25, 5);
  EXPECT_EQ(limit_.power_mw(now_), std::nullopt);
}

// It has felt nothing for eight hours, whatever it drew before them and draws behind them.
TEST_F(ThermalLimitTest, KeepsABoardThatSleptBelowItsLimit) {
  restart();
  turns(17);
  now_ += std::chrono::hours(8);
  temperature_c_ = ambient_c_;
  read_power();
  read(temperature_c_);
  run(20, 120);
  EXPECT_LE(turns(8), kLimitC);
}

// A GPU may still be powered down when the board wakes, or its zone answer EAGAIN. Work that begins
// at once shows whether the zone is thought to be as warm inside as before.
TEST_F(ThermalLimitTest, AZoneWhoseFirstReadingsFailWhenTheBoardWakesHasSleptAsWell) {
  for (const ReadingState first : {ReadingState::off, ReadingState::missing}) {
    SCOPED_TRACE(static_cast<int>(first));
    restart();
    turns(17);
    now_ += std::chrono::hours(8);
    temperature_c_ = ambient_c_;
    read_power();
    read(temperature_c_, first);
    limit_.power_mw(now_);
    EXPECT_LE(turns(8), kLimitC - 1);
  }
}

TEST_F(ThermalLimitTest, AZoneThatWasOffForAnHourHasFeltWhatItsTemperatureTells) {
  restart();
  turns(17);
  for (int i = 0; i < 36'000; ++i) tick(2, ReadingState::off);
  EXPECT_LE(turns(8), kLimitC - 1);
}

TEST_F(ThermalLimitTest, AnHourWithoutAPowerIsAGapToo) {
  restart();
  turns(17);
  temperature_c_ = ambient_c_;
  for (int i = 0; i < 3600; ++i) {
    now_ += seconds(1);
    read(temperature_c_);
    limit_.power_mw(now_);
  }
  EXPECT_LE(turns(8), kLimitC - 1);
}

TEST_F(ThermalLimitTest, WhatIsOverItsLimitIsCappedBelowWhatItWas) {
  temperature_c_ = 84;
  run(30, 30);
  ASSERT_TRUE(limit_.power_mw(now_));
  EXPECT_LT(*limit_.power_mw(now_), 30'000);
}

}  // namespace
}  // namespace gearshift
