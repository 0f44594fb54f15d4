#include "limits/heat_estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gearshift {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// A zone of 0.9 K/W and 90 s in surroundings of 45 C.
class HeatEstimateTest : public testing::Test {
 protected:
  static constexpr double kCPerW = 0.9;
  static constexpr double kTimeS = 90;

  void run(double power_w, int for_s) {
    for (int i = 0; i < for_s; ++i) {
      const double settled = surroundings_c_ + kCPerW * power_w;
      temperature_c_ = settled + std::exp(-1 / kTimeS) * (temperature_c_ - settled);
      // As a sensor steps.
      estimate_.add(power_w, std::round(temperature_c_ * 32) / 32, seconds(1));
    }
  }
  double surroundings_c_ = 45;
  double temperature_c_ = 45 + kCPerW * 10;
  HeatEstimate estimate_;
};

TEST_F(HeatEstimateTest, LearnsTheResistanceAndTheTimeConstantFromStepsOfPower) {
  for (int i = 0; i < 3; ++i) {
    run(10, 120);
    run(40, 120);
  }
  ASSERT_TRUE(estimate_.c_per_w());
  EXPECT_NEAR(*estimate_.c_per_w(), kCPerW, 0.15 * kCPerW);
  EXPECT_EQ(estimate_.time_s(), 80);  // the nearest that is tried
}

TEST_F(HeatEstimateTest, KnowsNothingWhilePowerDoesNotVary) {
  run(10, 600);
  EXPECT_FALSE(estimate_.c_per_w());
  EXPECT_EQ(estimate_.power_w(temperature_c_, 80, seconds(120)), std::nullopt);
}

TEST_F(HeatEstimateTest, NearTheLimitItAllowsWhatWasFeltUntilItKnowsMore) {
  run(10, 600);  // 54 C
  EXPECT_NEAR(*estimate_.power_w(54, 54, seconds(120)), 10, 0.1);
  EXPECT_LT(*estimate_.power_w(54, 50, seconds(120)), 10);
  EXPECT_GT(*estimate_.power_w(54, 60, seconds(120)), 10);
}

TEST_F(HeatEstimateTest, AllowsWhatStaysBelowTheLimitForGood) {
  run(10, 120);
  run(40, 300);
  run(20, 200);
  const double allowed_w = *estimate_.power_w(temperature_c_, 80, hours(10));
  EXPECT_NEAR(allowed_w, (80 - surroundings_c_) / kCPerW, 0.05 * allowed_w);
}

TEST_F(HeatEstimateTest, MoreIsAllowedForAShortTimeThanForGood) {
  run(10, 120);
  run(40, 120);
  const double for_good_w = *estimate_.power_w(temperature_c_, 80, hours(10));
  EXPECT_GT(*estimate_.power_w(temperature_c_, 80, seconds(60)), 1.1 * for_good_w);
}

TEST_F(HeatEstimateTest, AfterAGapItHasFeltWhatItsTemperatureTells) {
  run(10, 120);
  run(40, 300);
  run(20, 200);
  const double before_w = *estimate_.power_w(temperature_c_, 80, seconds(60));
  estimate_.skip(temperature_c_, seconds(20));
  EXPECT_NEAR(*estimate_.power_w(temperature_c_, 80, seconds(60)), before_w, 0.1 * before_w);
  estimate_.skip(surroundings_c_, hours(8));
  EXPECT_NEAR(estimate_.felt_w(), 0, 1);
  const double reached = 1 - std::exp(-60 / kTimeS);
  const double allowed_w = (80 - surroundings_c_) / (kCPerW * reached);
  EXPECT_NEAR(*estimate_.power_w(surroundings_c_, 80, seconds(60)), allowed_w, 0.15 * allowed_w);
}

TEST_F(HeatEstimateTest, AfterAGapItHasForgottenWhatItFeltWhereItKnowsNoMore) {
  run(10, 600);
  ASSERT_FALSE(estimate_.c_per_w());
  estimate_.skip(temperature_c_, seconds(80));
  EXPECT_NEAR(estimate_.felt_w(), 10 / std::exp(1.0), 0.1);
  EXPECT_FALSE(estimate_.c_per_w());
}

// The sun comes round: the regression is of another day, the temperature is of now.
TEST_F(HeatEstimateTest, WarmerSurroundingsAreMadeGood) {
  run(10, 120);
  run(40, 300);
  run(20, 200);
  surroundings_c_ += 10;
  run(20, 600);
  const double allowed_w = *estimate_.power_w(temperature_c_, 80, hours(10));
  EXPECT_NEAR(allowed_w, (80 - surroundings_c_) / kCPerW, 0.15 * allowed_w);
}

}  // namespace
}  // namespace gearshift
