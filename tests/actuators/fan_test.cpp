#include "actuators/fan.h"

#include <gtest/gtest.h>

#include "tests/fakes/temp_tree.h"

namespace gearshift {
namespace {

TEST(Fan, IsAtFullSpeedForAsLongAsItIsPinned) {
  const fakes::TempTree tree;
  tree.put("/sys/class/hwmon/hwmon0/name", "ina3221\n");
  tree.put("/sys/class/hwmon/hwmon3/name", "pwmfan\n");
  tree.put("/sys/class/hwmon/hwmon3/pwm1", "88\n");
  tree.put("/sys/class/hwmon/hwmon3/pwm1_enable", "2\n");
  Sysroot root(tree.root());
  {
    const FanPin fan(root);
    EXPECT_EQ(fan.finding(), "fan: at full speed, /sys/class/hwmon/hwmon3/pwm1");
    EXPECT_EQ(root.read("/sys/class/hwmon/hwmon3/pwm1"), "255");
    EXPECT_EQ(root.read("/sys/class/hwmon/hwmon3/pwm1_enable"), "1");
    EXPECT_FALSE(fan.lost());
    root.write("/sys/class/hwmon/hwmon3/pwm1", "60");
    EXPECT_TRUE(fan.lost());
  }
  EXPECT_EQ(root.read("/sys/class/hwmon/hwmon3/pwm1"), "88");
  EXPECT_EQ(root.read("/sys/class/hwmon/hwmon3/pwm1_enable"), "2");
}

TEST(Fan, OfJetPack4) {
  const fakes::TempTree tree;
  tree.put("/sys/devices/pwm-fan/target_pwm", "0\n");
  tree.put("/sys/devices/pwm-fan/temp_control", "1\n");
  Sysroot root(tree.root());
  {
    const FanPin fan(root);
    EXPECT_EQ(root.read("/sys/devices/pwm-fan/target_pwm"), "255");
    EXPECT_EQ(root.read("/sys/devices/pwm-fan/temp_control"), "0");
  }
  EXPECT_EQ(root.read("/sys/devices/pwm-fan/target_pwm"), "0");
  EXPECT_EQ(root.read("/sys/devices/pwm-fan/temp_control"), "1");
}

TEST(Fan, ThatIsNotThereOrCannotBeWrittenIsTold) {
  const fakes::TempTree tree;
  Sysroot root(tree.root());
  EXPECT_EQ(FanPin(root).finding(), "fan: none found");
  tree.put("/sys/class/hwmon/hwmon3/name", "pwmfan\n");
  const FanPin fan(root);
  EXPECT_NE(fan.finding().find("fan: not pinned: "), std::string::npos) << fan.finding();
  EXPECT_NE(fan.finding().find("hwmon3/pwm1"), std::string::npos) << fan.finding();
  EXPECT_FALSE(fan.lost());
}

}  // namespace
}  // namespace gearshift
