#include "limits/drain_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "controller/battery.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

constexpr double kFullWh = 100;

// A battery that a board and something else draw on, with a gauge that is looked at each second.
class Draining {
 public:
  // The gauge shows multiples of `step_wh`; 0: what there is.
  explicit Draining(double step_wh, double energy_wh = kFullWh)
      : step_wh_(step_wh), energy_wh_(energy_wh) {}

  void run(int for_s, double board_w, double other_w) {
    for (int i = 0; i < for_s; ++i) {
      const double shown_wh =
          step_wh_ > 0 ? std::floor(energy_wh_ / step_wh_ + 1e-9) * step_wh_ : energy_wh_;
      meter.add_energy(shown_wh, kFullWh, now);
      meter.add_power({.quantity = Quantity::power,
                       .state = ReadingState::ok,
                       .value = std::llround(1000 * board_w),
                       .taken = now});
      now += seconds(1);
      energy_wh_ = std::min(kFullWh, energy_wh_ - (board_w + other_w) / kJoulesInWh);
      if (!meter.measured()) continue;
      if (measured_s < 0) measured_s = std::chrono::duration_cast<seconds>(now - Time{}).count();
      lowest_w = std::min(lowest_w, believed_w());
      highest_w = std::max(highest_w, believed_w());
    }
  }

  // The gauge finds that there was less, or more, all along.
  void recalibrate(double by_wh) { energy_wh_ += by_wh; }

  double believed_w() const { return meter.other_w(now); }

  DrainMeter meter{seconds(60)};
  Time now{};
  std::int64_t measured_s = -1;  // after so long the first was
  double lowest_w = 1e9;         // of all that were measured
  double highest_w = -1e9;

 private:
  double step_wh_;
  double energy_wh_;
};

TEST(DrainMeter, MeasuresByTheMinuteWhereTheGaugeIsExact) {
  for (const double other_w : {-30.0, -20.0, 0.0, 5.0, 100.0}) {
    Draining battery(0, 50);
    battery.run(121, 22, other_w);
    EXPECT_EQ(battery.measured_s, 61);
    EXPECT_NEAR(battery.lowest_w, other_w, 0.01);
    EXPECT_NEAR(battery.highest_w, other_w, 0.01);
  }
}

TEST(DrainMeter, BelievesMoreAtOnceAndLessOverAboutThreeWindows) {
  Draining battery(0);
  battery.run(121, 22, 10);
  battery.run(60, 22, 0);
  EXPECT_NEAR(battery.believed_w(), 5, 0.2);
  battery.run(120, 22, 0);
  EXPECT_NEAR(battery.believed_w(), 1.25, 0.2);
  battery.run(60, 22, 30);
  EXPECT_NEAR(battery.believed_w(), 30, 0.6);
}

// Where the current is read; without it the next window tells.
TEST(DrainMeter, CountsAChargerNoLongerThanCurrentFlowsIn) {
  Draining battery(0, 40);
  const auto flow = [&](int for_s, double out_w) {
    for (int i = 0; i < for_s; ++i) {
      battery.run(1, 22, out_w - 22);
      battery.meter.add_flow(out_w, battery.now);
    }
  };
  flow(200, -20);
  EXPECT_NEAR(battery.believed_w(), -42, 0.5);
  flow(20, 22);
  EXPECT_NEAR(battery.believed_w(), 0, 1) << "within seconds";
  battery.now += seconds(11);
  EXPECT_LT(battery.believed_w(), -15) << "nobody reads it any more, and the window goes on";
}

TEST(DrainMeter, TakesAMotorsStartForNoDrainThatLasts) {
  Draining battery(0);
  battery.run(121, 22, 5);
  battery.meter.add_flow(600, battery.now);
  EXPECT_NEAR(battery.believed_w(), 5, 0.1);
}

// A percent of 100 Wh is 164 s of 22 W: in a minute the gauge falls by 0 or by 60 W.
TEST(DrainMeter, ReadsNothingIntoTheStepsOfAGaugeThatCountsInPercent) {
  for (const double step_wh : {0.1, 0.5, 1.0}) {
    for (const double other_w : {0.0, 5.0, 30.0}) {
      Draining battery(step_wh);
      battery.run(2 * 3600, 22, other_w);
      EXPECT_GT(battery.measured_s, 0) << step_wh;
      EXPECT_LT(battery.measured_s, 15 * 60) << step_wh;
      EXPECT_NEAR(battery.lowest_w, other_w, 1) << step_wh;
      EXPECT_NEAR(battery.highest_w, other_w, 1) << step_wh;
    }
  }
}

TEST(DrainMeter, KnowsACharger) {
  Draining gains(1, 40);
  gains.run(2 * 3600, 22, -40);
  EXPECT_NEAR(gains.lowest_w, -40, 1.5);
  EXPECT_NEAR(gains.highest_w, -40, 1.5);
  Draining floats(1);
  floats.run(3600, 22, -22);
  EXPECT_NEAR(floats.believed_w(), -22, 2.2) << "it never moves";
  EXPECT_GT(floats.measured_s, 15 * 60) << "and may have hidden a percent so long";
}

// Of a gauge that was seen to be exact; 22 W are drawn, and 60 come.
Draining on_a_charger() {
  Draining battery(0);
  battery.run(120, 22, 0);
  battery.run(600, 22, -60);
  return battery;
}

// How much more than the board draws comes shows only once it draws more.
TEST(DrainMeter, TakesWhatAFullBatteryIsSparedForTheLeastThatAChargerGives) {
  Draining battery = on_a_charger();
  EXPECT_TRUE(battery.meter.floats(battery.now));
  EXPECT_NEAR(battery.believed_w(), -22, 0.01);
  battery.run(61, 30, -40);
  EXPECT_TRUE(battery.meter.floats(battery.now));
  EXPECT_NEAR(battery.believed_w(), -30, 0.2);
  battery.run(60, 50, -40);
  EXPECT_FALSE(battery.meter.floats(battery.now));
  EXPECT_NEAR(battery.believed_w(), -40, 0.2) << "a measurement, at once";
}

TEST(DrainMeter, AFullBatteryFloatsNoLongerThanItIsFull) {
  Draining battery = on_a_charger();
  battery.run(1, 22, -60);
  battery.run(30, 92, -40);
  EXPECT_TRUE(battery.meter.floats(battery.now)) << "99.57 Wh of 100";
  battery.run(10, 92, -40);
  EXPECT_FALSE(battery.meter.floats(battery.now)) << "within the window";
  EXPECT_NEAR(battery.believed_w(), -22, 0.01);
}

TEST(DrainMeter, ABatteryThatIsDrainedOrStandsStillBelowDoesNotFloat) {
  Draining drained = on_a_charger();
  drained.run(1, 22, -60);
  EXPECT_TRUE(drained.meter.floats(drained.now));
  drained.run(60, 22, 0);
  EXPECT_FALSE(drained.meter.floats(drained.now)) << "99.63 Wh of 100";
  Draining still(0, 98);
  still.run(120, 22, 0);
  still.run(300, 22, -22);
  EXPECT_NEAR(still.believed_w(), -22, 3);
  EXPECT_FALSE(still.meter.floats(still.now));
}

TEST(DrainMeter, AFullBatteryThatGivesAtItsTerminalsDoesNotFloat) {
  Draining battery = on_a_charger();
  battery.meter.add_flow(1, battery.now);
  EXPECT_TRUE(battery.meter.floats(battery.now)) << "a watt of 22";
  battery.meter.add_flow(22, battery.now + seconds(1));
  battery.meter.add_flow(22, battery.now + seconds(2));
  EXPECT_FALSE(battery.meter.floats(battery.now + seconds(2))) << "its gauge stands still";
  EXPECT_TRUE(battery.meter.floats(battery.now + seconds(60))) << "of a minute ago";
}

TEST(DrainMeter, KnowsNothingOfAGap) {
  Draining battery(0);
  battery.run(30, 22, 0);
  battery.now += seconds(61);
  battery.run(60, 22, 0);
  EXPECT_FALSE(battery.meter.measured());
  battery.run(1, 22, 0);
  EXPECT_TRUE(battery.meter.measured());
}

TEST(DrainMeter, FollowsWhatOthersDrawThoughAnExactGaugeWasRecalibratedOnce) {
  for (const double jump_wh : {-3.0, -1.0, -0.5, 0.5, 3.0}) {
    Draining battery(0, 90);
    battery.run(900, 22, 0);
    battery.recalibrate(jump_wh);
    battery.run(900, 22, 0);
    EXPECT_NEAR(battery.lowest_w, 0, 0.01) << jump_wh << " Wh that nothing drew";
    EXPECT_NEAR(battery.highest_w, 0, 0.01) << jump_wh << " Wh that nothing drew";
    battery.run(600, 22, 150);
    EXPECT_NEAR(battery.believed_w(), 150, 1) << jump_wh;
  }
}

TEST(DrainMeter, FollowsWhatOthersDrawThoughAGaugeOfWholePercentsWasRecalibratedOnce) {
  Draining battery(1);
  battery.run(3000, 22, 5);
  battery.recalibrate(-4);
  battery.run(3600, 22, 5);
  EXPECT_NEAR(battery.lowest_w, 5, 1);
  EXPECT_NEAR(battery.highest_w, 5, 1);
  battery.run(1800, 22, 50);
  EXPECT_NEAR(battery.believed_w(), 50, 5);
}

// A motor that starts for a second each minute is no error of the gauge.
TEST(DrainMeter, CountsALoadThatComesForASecondNowAndThen) {
  Draining battery(0);
  for (int minute = 0; minute < 30; ++minute) {
    battery.run(59, 22, 0);
    battery.run(1, 22, 600);
  }
  EXPECT_NEAR(battery.believed_w(), 10, 3);
}

}  // namespace
}  // namespace gearshift
