// The battery of a virtual board, as its drivers show it: a power_supply folder and an INA219.
#pragma once

#include <optional>
#include <string>

#include "simulator/board_tree.h"
#include "simulator/supply.h"

namespace gearshift {

class BatteryDevice {
 public:
  // Full speed from the first advance() on, not from a board's first second, which was long ago.
  explicit BatteryDevice(const SupplySpec& spec) : supply_(spec) {}

  // The board drew so much since the last call.
  void advance(Time now, double board_w);
  const Supply& supply() const { return supply_; }

  // /sys/class/power_supply/BAT0, the hwmon folder with that number, and below /.virtual what is
  // truly left, the least that ever was, and whether the battery gave out. The object outlives the
  // tree's files.
  void add_files(BoardTree& tree, const std::string& i2c_device, int hwmon_number);

 private:
  Supply supply_;
  std::optional<Time> began_;
  Time advanced_{};
};

}  // namespace gearshift
