// A battery on a charger: what a plan takes its power for.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fakes/limited_battery.h"

namespace gearshift {
namespace {

using fakes::kCapacityWh;
using fakes::Limited;

// The board draws what it is let, and a charger gives what the battery can take of it.
class OnACharger {
 public:
  explicit OnACharger(double given_w) : charger_w(given_w) {}

  // 30 W is the most that the board draws; 10 W at least while it is `held`.
  void run(int for_s, bool held = false) {
    for (int i = 0; i < for_s; ++i) {
      limited_.battery(energy_wh_);
      const auto cap = limited_.cap();
      board_w_ = held || cap == kNoPowerMw
                     ? 10
                     : std::min(30.0, cap ? static_cast<double>(*cap) / 1050 : 30.0);
      limited_.read(Quantity::power, board_w_);
      limited_.now += std::chrono::seconds(1);
      energy_wh_ = std::min(kCapacityWh, energy_wh_ + (charger_w - board_w_) / kJoulesInWh);
      least_wh = std::min(least_wh, energy_wh_);
    }
  }
  double mean_power_w() const { return limited_.limit.plan().mean_power_w; }
  double energy_wh() const { return energy_wh_; }

  double charger_w;
  double least_wh = kCapacityWh;

 private:
  Limited limited_{{.aim = BatteryAim::progress}};
  double energy_wh_ = kCapacityWh;
  double board_w_ = 0;
};

TEST(BatteryOnACharger, RisesAboveWhatTheBoardDrewWhereAFullBatteryTellsNoMore) {
  OnACharger board(100);
  board.run(600, true);  // by another cap, say
  EXPECT_EQ(board.mean_power_w(), 30);
  board.run(600);
  EXPECT_EQ(board.mean_power_w(), 30);
  EXPECT_EQ(board.energy_wh(), kCapacityWh);
}

TEST(BatteryOnACharger, SettlesAtWhatAChargerGivesOnceSomethingLeavesTheBattery) {
  OnACharger board(25);
  board.run(600, true);
  ASSERT_EQ(board.mean_power_w(), 30);
  board.run(600);
  EXPECT_NEAR(board.mean_power_w(), 25, 0.5);
  board.run(2 * 3600);
  EXPECT_GT(board.least_wh, 0.95 * kCapacityWh);
}

TEST(BatteryOnACharger, FindsWithinTwoWindowsThatAChargerIsGone) {
  OnACharger board(25);
  board.run(600, true);
  ASSERT_EQ(board.mean_power_w(), 30);
  board.charger_w = 0;
  board.run(125);
  EXPECT_EQ(board.mean_power_w(), 20) << "where a joule does most";
  EXPECT_GT(board.least_wh, 0.89 * kCapacityWh);
}

// 0.045 Wh above the reserve are 2.7 W for a minute, of which 2 W are drawn while all wait.
TEST(BatteryOverTheSun, LeavesALittleMoreThanTheReserveForErrors) {
  Limited run({.aim = BatteryAim::serve,
               .until = std::chrono::minutes(1),
               .pause_w = 2,
               .forecast = {{Duration{}, 0}}});
  run.battery(2.045);
  run.cap();
  EXPECT_EQ(run.limit.plan().mean_power_w, 2);
  EXPECT_EQ(run.limit.plan().shortfall, Shortfall::none);
}

}  // namespace
}  // namespace gearshift
