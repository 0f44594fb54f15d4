// A battery in the kernel's power_supply class, and what is read of it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/battery.h"
#include "sensors/power_supply.h"
#include "tests/fakes/temp_tree.h"

namespace gearshift {

class PowerSupplyFixture : public testing::Test {
 protected:
  void put(const std::string& file, const std::string& text) {
    tree_.put("/sys/class/power_supply/BAT0/" + file, text + "\n");
  }
  // Half full, of 1 Ah: it counts charge, and tells its designed voltage, 11.1 V, and 12 V.
  void put_charge_gauge() {
    put("type", "Battery");
    put("charge_now", "500000");
    put("charge_full", "1000000");
    put("voltage_min_design", "11100000");
    put("voltage_now", "12000000");
  }
  std::unique_ptr<PowerSupply> open(std::optional<double> capacity_wh = std::nullopt) {
    findings_.clear();
    auto supplies = PowerSupply::open_all(capacity_wh, root_, findings_);
    return supplies.empty() ? nullptr : std::move(supplies.front());
  }
  static Battery battery_of(PowerSupply& sensor, int second) {
    std::vector<Reading> readings;
    sensor.read(Time{} + std::chrono::seconds(second), readings);
    Battery read;
    for (const Reading& reading : readings) read.add(reading);
    return read;
  }
  static std::optional<double> energy_of(PowerSupply& sensor, int second) {
    return battery_of(sensor, second).energy_wh;
  }

  fakes::TempTree tree_;
  Sysroot root_{tree_.root()};
  std::vector<std::string> findings_;
};

}  // namespace gearshift
