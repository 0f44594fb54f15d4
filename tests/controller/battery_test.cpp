#include "controller/battery.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

using std::chrono::seconds;

Reading reading(Quantity quantity, std::int64_t value, int second,
                ReadingState state = ReadingState::ok) {
  return {.quantity = quantity, .state = state, .value = value, .taken = Time(seconds(second))};
}

TEST(Battery, ForgetsVoltageAndCurrentThatAreTenSecondsOldAndKeepsTheEnergy) {
  Battery battery;
  battery.add(reading(Quantity::battery_energy, 7'200'000, 100));
  battery.add(reading(Quantity::battery_voltage, 11'500, 100));
  battery.add(reading(Quantity::battery_current, 2'400, 102));
  battery.add(reading(Quantity::battery_voltage, 0, 110, ReadingState::missing));
  EXPECT_DOUBLE_EQ(battery.voltage_v.value_or(0), 11.5);
  battery.add(reading(Quantity::battery_voltage, 0, 111, ReadingState::missing));
  EXPECT_FALSE(battery.voltage_v);
  EXPECT_DOUBLE_EQ(battery.current_a.value_or(0), 2.4);
  battery.add(reading(Quantity::power, 30'000, 113));
  EXPECT_FALSE(battery.current_a);
  EXPECT_DOUBLE_EQ(battery.energy_wh.value_or(0), 2);
  battery.add(reading(Quantity::battery_voltage, 11'400, 114));
  EXPECT_DOUBLE_EQ(battery.voltage_v.value_or(0), 11.4);
}

}  // namespace
}  // namespace gearshift
