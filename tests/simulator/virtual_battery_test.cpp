#include "simulator/virtual_battery.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gearshift {
namespace {

TEST(VirtualBattery, AccountsForAllOfItsEnergy) {
  VirtualBattery battery({.capacity_wh = 10, .resistance_ohm = 0.2});
  battery.advance(30, 600);  // 5 Wh
  EXPECT_NEAR((10 - battery.energy_wh()) * 3600, 30 * 600 + battery.lost_j(), 1e-6);
  EXPECT_GT(battery.lost_j(), 600.0 * 6 * 0.2);  // 2.5 A in 0.2 ohm
}

TEST(VirtualBattery, SagsWithCurrentAndWithCharge) {
  VirtualBattery battery({.capacity_wh = 10, .resistance_ohm = 0.1});
  EXPECT_NEAR(battery.voltage_v(), 12.6, 1e-9);
  battery.advance(60, 0.001);
  EXPECT_NEAR(battery.voltage_v() * battery.current_a(), 60, 1e-6);
  EXPECT_NEAR(battery.voltage_v(), 12.6 - 0.1 * battery.current_a(), 1e-3);
  const double full_v = battery.voltage_v();
  battery.advance(60, 400);
  EXPECT_LT(battery.voltage_v(), full_v - 0.5);
  battery.advance(0, 0.001);
  EXPECT_NEAR(battery.voltage_v(), battery.open_circuit_v(), 1e-6);
}

TEST(VirtualBattery, KeepsLessThanFlowsInAndNoMoreThanItHolds) {
  VirtualBattery battery({.capacity_wh = 10,
                          .charge = 0.5,
                          .resistance_ohm = 0,
                          .charge_efficiency = 0.9,
                          .self_discharge_per_day = 0});
  battery.advance(-20, 360);  // 2 Wh
  EXPECT_NEAR(battery.energy_wh(), 6.8, 1e-9);
  EXPECT_LT(battery.current_a(), 0);
  battery.advance(-20, 1800);  // 10 Wh
  EXPECT_NEAR(battery.energy_wh(), 10, 1e-9);
  EXPECT_NEAR(battery.lost_j(), 5 * 3600 * (1 / 0.9 - 1), 1e-6)
      << "what it does not take is not lost";
}

TEST(VirtualBattery, EmptiesByItself) {
  VirtualBattery battery({.capacity_wh = 10, .self_discharge_per_day = 0.01});
  battery.advance(0, 86400);
  EXPECT_NEAR(battery.energy_wh(), 9.9, 0.001);
}

TEST(VirtualBattery, GivesNoMoreBelowItsCutoffUntilItIsCharged) {
  VirtualBattery battery({.capacity_wh = 1, .charge = 0.1, .resistance_ohm = 0.5, .cutoff_v = 9});
  battery.advance(30, 1);
  EXPECT_TRUE(battery.empty());
  const double left_wh = battery.energy_wh();
  EXPECT_GT(left_wh, 0);
  battery.advance(30, 10);
  EXPECT_NEAR(battery.energy_wh(), left_wh, 1e-6);
  battery.advance(-10, 10);
  EXPECT_FALSE(battery.empty());
}

TEST(VirtualBattery, RefusesWhatIsNoBattery) {
  EXPECT_THROW(VirtualBattery({.capacity_wh = 0}), std::invalid_argument);
  EXPECT_THROW(VirtualBattery({.charge = 1.1}), std::invalid_argument);
  EXPECT_THROW(VirtualBattery({.charge_efficiency = 0}), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
