// A virtual board on a battery: what its files show, and that the sensors of a real one read them.
#include <gtest/gtest.h>

#include "boards/board_description.h"
#include "simulator/board_state.h"

namespace gearshift {
namespace {

using std::chrono::seconds;

class BatteryBoard : public testing::Test {
 protected:
  std::string text(const std::string& path) {
    const FileText file = board_.read(path);
    EXPECT_EQ(file.error, 0) << path;
    return file.text.substr(0, file.text.find('\n'));
  }
  double supply(const std::string& file) {
    return std::stod(text("/sys/class/power_supply/BAT0/" + file));
  }
  std::string ina219() {
    const auto names = board_.list("/sys/class/hwmon");
    for (const std::string& name : names.value()) {
      if (text("/sys/class/hwmon/" + name + "/name") == "ina219") return "/sys/class/hwmon/" + name;
    }
    return "none";
  }

  BoardState board_{*find_board("jetson-agx-orin", built_in_boards()),
                    {.supply = SupplySpec{.battery = {.capacity_wh = 10, .charge = 0.5}}}};
};

TEST_F(BatteryBoard, DrainsByItsTruePowerFromTheFirstLookOn) {
  board_.advance(Time{} + seconds(1'000'000));  // it booted long ago
  EXPECT_EQ(text("/sys/class/power_supply/BAT0/type"), "Battery");
  EXPECT_EQ(supply("energy_now"), 5e6);
  EXPECT_EQ(supply("energy_full"), 10e6);
  const double power_w = board_.true_power_mw() / 1000;
  board_.advance(Time{} + seconds(1'000'100));
  const double used_j = (5e6 - supply("energy_now")) * 3600e-6;
  EXPECT_GT(used_j, 100 * power_w);  // and what is lost in the battery
  EXPECT_LT(used_j, 104 * power_w);
  EXPECT_EQ(text("/sys/class/power_supply/BAT0/status"), "Discharging");
  EXPECT_LT(supply("current_now"), 0);
  EXPECT_EQ(text("/.virtual/battery/empty"), "0");
}

TEST_F(BatteryBoard, ShowsTheSameTerminalsOnAnIna219) {
  board_.advance(Time{} + seconds(1));
  board_.advance(Time{} + seconds(2));
  const std::string folder = ina219();
  ASSERT_NE(folder, "none");
  const double voltage_v = std::stod(text(folder + "/in1_input")) / 1000;
  const double current_a = std::stod(text(folder + "/curr1_input")) / 1000;
  EXPECT_NEAR(voltage_v, supply("voltage_now") / 1e6, 0.001);
  EXPECT_NEAR(voltage_v * current_a, board_.true_power_mw() / 1000, 0.05);
}

TEST(MainsBoard, HasNoBattery) {
  BoardState board(*find_board("jetson-agx-orin", built_in_boards()));
  EXPECT_EQ(board.read("/sys/class/power_supply/BAT0/type").error, ENOENT);
}

}  // namespace
}  // namespace gearshift
