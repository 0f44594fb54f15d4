#include "controller/battery.h"

#include <cmath>

namespace gearshift {
namespace {

constexpr double kMjInWh = 1000 * kJoulesInWh;

}  // namespace

void Battery::add(const Reading& reading) {
  if (reading.taken - voltage_taken > kTerminalsStaleAfter) voltage_v.reset();
  if (reading.taken - current_taken > kTerminalsStaleAfter) current_a.reset();
  if (reading.state != ReadingState::ok) return;
  const auto value = static_cast<double>(reading.value);
  switch (reading.quantity) {
    case Quantity::battery_energy:
      energy_wh = value / kMjInWh;
      taken = reading.taken;
      estimate = reading.estimate;
      return;
    case Quantity::battery_capacity:
      capacity_wh = value / kMjInWh;
      return;
    case Quantity::battery_voltage:
      voltage_v = value / 1000;
      voltage_taken = reading.taken;
      return;
    case Quantity::battery_current:
      current_a = value / 1000;
      current_taken = reading.taken;
      return;
    case Quantity::power:
    case Quantity::rail_power:
    case Quantity::temperature:
      return;
  }
}

void append_readings(const Battery& battery, Time taken, std::vector<Reading>& readings) {
  const auto append = [&](Quantity quantity, const std::optional<double>& value, double scale) {
    if (!value) return;
    readings.push_back({.quantity = quantity,
                        .state = ReadingState::ok,
                        .estimate = battery.estimate,
                        .channel = 0,
                        .value = std::llround(*value * scale),
                        .taken = taken});
  };
  append(Quantity::battery_energy, battery.energy_wh, kMjInWh);
  append(Quantity::battery_capacity, battery.capacity_wh, kMjInWh);
  append(Quantity::battery_voltage, battery.voltage_v, 1000);
  append(Quantity::battery_current, battery.current_a, 1000);
}

}  // namespace gearshift
