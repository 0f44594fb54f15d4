#include "limits/voltage_ceiling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace gearshift {
namespace {

// Of a battery of 100 Wh.
constexpr double kStepWh = 5;

TEST(VoltageCeiling, HoldsNothingBackBeforeTheFirstSag) {
  VoltageCeiling ceiling;
  EXPECT_EQ(ceiling.power_w(50, kStepWh), std::nullopt);
}

TEST(VoltageCeiling, StandsAtTheChargeOfTheSagAndBelowAndRisesAboveIt) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  for (const double energy_wh : {50.0, 30.0, 0.0, 54.9}) {
    EXPECT_NEAR(*ceiling.power_w(energy_wh, kStepWh), 17, 1e-9) << energy_wh;
  }
  EXPECT_NEAR(*ceiling.power_w(55, kStepWh), 20, 1e-9);
  EXPECT_NEAR(*ceiling.power_w(60, kStepWh), 20 / 0.85, 1e-9);
  EXPECT_NEAR(*ceiling.power_w(100, kStepWh), 17 / std::pow(0.85, 10), 1e-9);
  EXPECT_NEAR(*ceiling.power_w(50, kStepWh), 17, 1e-9) << "back where it sagged";
}

TEST(VoltageCeiling, DoesNotMoveWithAGaugesNoise) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  for (const double energy_wh : {55.1, 54.9, 55.1, 52.6}) {
    EXPECT_NEAR(*ceiling.power_w(energy_wh, kStepWh), 20, 1e-9) << energy_wh;
  }
  for (const double energy_wh : {52.4, 54.9}) {
    EXPECT_NEAR(*ceiling.power_w(energy_wh, kStepWh), 17, 1e-9) << energy_wh;
  }
}

TEST(VoltageCeiling, ComesBackAtOnceWhereItSagsAgain) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  EXPECT_GT(*ceiling.power_w(80, kStepWh), 40);
  ceiling.sagged(40, 80);
  EXPECT_NEAR(*ceiling.power_w(80, kStepWh), 34, 1e-9);
  EXPECT_NEAR(*ceiling.power_w(60, kStepWh), 20 / 0.85, 1e-9) << "what is known of less stays";
  EXPECT_NEAR(*ceiling.power_w(50, kStepWh), 17, 1e-9);
}

TEST(VoltageCeiling, ASagOfAFullBatteryHoldsForAllCharges) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  ceiling.sagged(18, 100);
  for (const double energy_wh : {100.0, 60.0, 10.0}) {
    EXPECT_NEAR(*ceiling.power_w(energy_wh, kStepWh), 15.3, 1e-9) << energy_wh;
  }
}

TEST(VoltageCeiling, ASagAtMoreThanWhatIsHeldBackTellsNothing) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  ceiling.sagged(30, 40);
  EXPECT_NEAR(*ceiling.power_w(40, kStepWh), 17, 1e-9);
  ceiling.sagged(18, 40);
  EXPECT_NEAR(*ceiling.power_w(40, kStepWh), 15.3, 1e-9);
  EXPECT_NEAR(*ceiling.power_w(50, kStepWh), 17, 1e-9);
}

TEST(VoltageCeiling, IsNoLowerThanALittleAboveWhatTheVoltageCameBackAt) {
  VoltageCeiling ceiling;
  ceiling.recovered(10);
  EXPECT_EQ(ceiling.power_w(50, kStepWh), std::nullopt) << "it did not sag";
  ceiling.sagged(11, 50);
  ceiling.recovered(4);
  EXPECT_NEAR(*ceiling.power_w(50, kStepWh), 10.3, 1e-9);
  ceiling.sagged(20, 40);
  EXPECT_NEAR(*ceiling.power_w(55, kStepWh), 11, 1e-9);
}

TEST(VoltageCeiling, IsNeverRaisedWhereTheCapacityIsNotKnown) {
  VoltageCeiling ceiling;
  ceiling.sagged(20, 50);
  EXPECT_NEAR(*ceiling.power_w(500, 0), 17, 1e-9);
}

}  // namespace
}  // namespace gearshift
