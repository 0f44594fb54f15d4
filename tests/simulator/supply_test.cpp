#include "simulator/supply.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Supply, GivesTheChargersPowerToTheBoardFirst) {
  SupplySpec spec{.battery = {.charge = 0.5, .self_discharge_per_day = 0},
                  .other_w = 2,
                  .charger = {{seconds(100), 12}, {seconds(200), 0}}};
  Supply supply(spec);
  supply.advance(Time{}, Time{} + seconds(100), 10);
  const double at_100_wh = supply.battery().energy_wh();
  EXPECT_NEAR(at_100_wh, 5 - 12.0 * 100 / 3600 - supply.battery().lost_j() / 3600, 1e-9);
  supply.advance(Time{} + seconds(100), Time{} + seconds(200), 10);
  EXPECT_NEAR(supply.battery().energy_wh(), at_100_wh, 1e-9);
  EXPECT_NEAR(supply.charged_j(), 1200, 1e-9);
  supply.advance(Time{} + seconds(200), Time{} + seconds(5000), 10);
  EXPECT_TRUE(supply.emptied());
}

TEST(Supply, ComesToTheSameHoweverTimeIsCut) {
  const SupplySpec spec{.battery = {.charge = 0.7},
                        .other_w = 0,
                        .charger = {{seconds(0), 3}, {seconds(7), 9}, {seconds(11), 1}}};
  Supply once(spec);
  once.advance(Time{}, Time{} + seconds(20), 8);
  Supply often(spec);
  for (int i = 0; i < 200; ++i) {
    often.advance(Time{} + std::chrono::milliseconds(100 * i),
                  Time{} + std::chrono::milliseconds(100 * (i + 1)), 8);
  }
  EXPECT_NEAR(once.battery().energy_wh(), often.battery().energy_wh(), 1e-6);
  EXPECT_NEAR(once.charged_j(), often.charged_j(), 1e-6);
}

// What was taken of the charger is in the battery, or was drawn, or was lost.
TEST(Supply, TellsWhatWasTakenOfTheChargerApartFromWhatItOffered) {
  Supply supply({.battery = {.capacity_wh = 20, .charge = 0.5},
                 .other_w = 2,
                 .charger = {{minutes(10), 100}, {hours(2), 5}, {hours(4), 0}}});
  double board_wh = 0;
  for (int minute = 0; minute < 270; ++minute) {
    const double board_w = minute % 3 == 0 ? 12 : 7;
    supply.advance(Time{} + minutes(minute), Time{} + minutes(minute + 1), board_w);
    board_wh += board_w / 60;
  }
  ASSERT_FALSE(supply.emptied());
  const double charged_wh = supply.charged_j() / kJoulesInWh;
  const double others_wh = 2.0 * 4.5;
  const double lost_wh = supply.battery().lost_j() / kJoulesInWh;
  EXPECT_NEAR(10 + charged_wh, supply.battery().energy_wh() + board_wh + others_wh + lost_wh, 1e-6);
  EXPECT_NEAR(supply.offered_j() / kJoulesInWh, 100 * 110.0 / 60 + 5 * 2, 1e-6);
  EXPECT_LT(charged_wh, 50) << "the battery was full in a quarter of an hour";
}

}  // namespace
}  // namespace gearshift
