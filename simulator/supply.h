// What powers a simulated board: a battery, what else draws on it, and the sun that charges it.
#pragma once

#include <optional>
#include <vector>

#include "controller/clock.h"
#include "simulator/virtual_battery.h"

namespace gearshift {

// Power that begins `after` the start and lasts until the next step.
struct SuppliedPower {
  Duration after{};
  double power_w = 0;
};

struct SupplySpec {
  VirtualBatterySpec battery;
  double other_w = 0;                    // that others draw from the battery all the while
  std::vector<SuppliedPower> charger{};  // in the order of time; none before the first
};

// What the sun or a charger gives goes to the board and the others first; the rest charges.
class Supply {
 public:
  explicit Supply(const SupplySpec& spec);

  // The board draws `board_w` from `from` until `until`.
  void advance(Time from, Time until, double board_w);

  const VirtualBattery& battery() const { return battery_; }
  double least_wh() const { return least_wh_; }    // that was ever left
  double offered_j() const { return offered_j_; }  // by the charger
  // Of that what the board, the others and the battery took.
  double charged_j() const { return offered_j_ - battery_.refused_j(); }
  std::optional<Time> emptied() const { return emptied_; }  // first

 private:
  SupplySpec spec_;
  VirtualBattery battery_;
  std::size_t step_ = 0;  // the charger's next
  double charger_w_ = 0;
  double least_wh_;
  double offered_j_ = 0;
  std::optional<Time> emptied_;
};

}  // namespace gearshift
