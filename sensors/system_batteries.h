// Reads all batteries that a machine runs on as the one that they are together.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "boards/sysroot.h"
#include "controller/sensor.h"
#include "sensors/power_supply.h"

namespace gearshift {

// Emits what a PowerSupply does, of all of them that are there at open: firmware may empty one
// after the other, and what is left is what all hold. Energy and capacity are sums. The voltage is
// the lowest of those that current flows out of, or else of all; the current is the power at all
// terminals divided by it, so that a battery that charges another is none that drains. Both are
// emitted where each battery tells both, the voltage where each tells that. A quantity is missing
// while one of the batteries lacks it, and absurd while one's is. One that holds nothing is no
// fault, as a battery alone that a machine runs on would be, while another one holds something.
class SystemBatteries : public Sensor {
 public:
  // Null where there is none that tells its energy; `findings` as those of PowerSupply::open_all.
  static std::unique_ptr<SystemBatteries> open(std::optional<double> capacity_wh, Sysroot& root,
                                               std::vector<std::string>& findings);

  bool has_voltage() const;

  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;

 private:
  // Quantity::battery_energy is the first.
  static constexpr std::size_t kQuantities = 4;
  static std::size_t index(Quantity quantity);

  struct Part {
    std::unique_ptr<PowerSupply> supply;
    std::array<std::optional<Reading>, kQuantities> newest;
    const Reading& of(Quantity quantity) const { return *newest[index(quantity)]; }
  };

  explicit SystemBatteries(std::vector<Part> parts) : parts_(std::move(parts)) {}
  bool all_tell(Quantity quantity, Time now) const;
  // With the state that all have together, and no value yet.
  Reading begin(Quantity quantity, Time now) const;
  Reading sum(Quantity quantity, Time now) const;
  Reading lowest_voltage(Time now) const;
  Reading current_at(const Reading& voltage, Time now) const;

  std::vector<Part> parts_;
  std::vector<Reading> scratch_;
};

}  // namespace gearshift
