#include "cli/battery_flags.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

// What is said of the flags; empty where they are taken.
std::string refusal(const BatteryFlags& flags) {
  try {
    make_battery_options(flags);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string unused(const BatteryFlags& flags) {
  const auto options = make_battery_options(flags);
  try {
    refuse_unused(flags, options->aim);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(BatteryFlags, ChooseTheirAimByWhatIsGiven) {
  EXPECT_EQ(make_battery_options({})->aim, BatteryAim::progress);
  EXPECT_EQ(make_battery_options({.until = "2h"})->aim, BatteryAim::serve);
  EXPECT_EQ(make_battery_options({.epochs = 20, .until = "2h"})->aim, BatteryAim::finish);
  EXPECT_FALSE(make_battery_options({.aim = "none"}));
}

// Workloads that wait go on 5 % above the reserve, or 2 % above where work is saved.
TEST(BatteryFlags, RefuseAReserveThatIsNeverLeft) {
  EXPECT_EQ(refusal({.reserve = "97%"}),
            "--reserve 97%: workloads that waited there would go on above 102 % of the capacity, "
            "and no battery holds as much; give less than 95%");
  EXPECT_NE(refusal({.reserve = "95%"}), "") << "a full battery is not above all that it holds";
  EXPECT_EQ(refusal({.reserve = "94.5%"}), "");
  EXPECT_EQ(refusal({.reserve = "50%", .checkpoint = "48%"}),
            "--reserve 50% with --checkpoint 48%: workloads that waited there would go on above "
            "100 % of the capacity, and no battery holds as much; give less than 50%, or a smaller "
            "--checkpoint");
  EXPECT_EQ(refusal({.reserve = "50%", .checkpoint = "47%"}), "");
  EXPECT_EQ(refusal({.aim = "none", .reserve = "97%"}), "") << "nobody waits";
}

TEST(BatteryFlags, RefuseWhatTheAimDoesNotPlanWith) {
  EXPECT_EQ(unused({.aim = "serve", .epochs = 20, .until = "2h"}),
            "--epochs 20: --battery-goal serve counts no epochs; leave it out, or give finish or "
            "least-energy");
  EXPECT_NE(unused({.aim = "progress", .epochs = 3}), "");
  EXPECT_EQ(unused({.aim = "progress", .until = "10m"}),
            "--until 10m: --battery-goal progress lasts until the reserve; leave it out, or give "
            "serve");
  for (const char* aim : {"", "finish", "least-energy"}) {
    EXPECT_EQ(unused({.aim = aim, .epochs = 3, .until = "10m"}), "") << aim;
  }
  EXPECT_EQ(unused({.aim = "serve", .until = "10m"}), "");
}

}  // namespace
}  // namespace gearshift
