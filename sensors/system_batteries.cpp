#include "sensors/system_batteries.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

constexpr Quantity kFirstOfBattery = Quantity::battery_energy;

// What a battery next to another may hold: a PowerSupply alone takes it for a gauge that is dead.
bool is_empty(const Reading& reading) {
  return reading.quantity == Quantity::battery_energy && reading.state == ReadingState::absurd &&
         reading.value == 0;
}

}  // namespace

std::size_t SystemBatteries::index(Quantity quantity) {
  return static_cast<std::size_t>(quantity) - static_cast<std::size_t>(kFirstOfBattery);
}

std::unique_ptr<SystemBatteries> SystemBatteries::open(std::optional<double> capacity_wh,
                                                       Sysroot& root,
                                                       std::vector<std::string>& findings) {
  std::vector<Part> parts;
  std::string names;
  for (auto& supply : PowerSupply::open_all(capacity_wh, root, findings)) {
    names += (names.empty() ? "" : " and ") + supply->name();
    parts.push_back({std::move(supply), {}});
  }
  if (parts.empty()) return nullptr;
  if (parts.size() > 1) findings.push_back("battery: " + names + " are counted together");
  return std::unique_ptr<SystemBatteries>(new SystemBatteries(std::move(parts)));
}

bool SystemBatteries::has_voltage() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.supply->has_voltage(); });
}

bool SystemBatteries::all_tell(Quantity quantity, Time now) const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) {
    const std::optional<Reading>& newest = part.newest[index(quantity)];
    return newest && newest->taken == now;
  });
}

Reading SystemBatteries::begin(Quantity quantity, Time now) const {
  Reading all{quantity, ReadingState::ok, false, 0, 0, now};
  for (const Part& part : parts_) {
    const Reading& one = part.of(quantity);
    if (one.state == ReadingState::ok || is_empty(one)) continue;
    if (all.state != ReadingState::missing) all.state = one.state;
  }
  return all;
}

Reading SystemBatteries::sum(Quantity quantity, Time now) const {
  Reading all = begin(quantity, now);
  for (const Part& part : parts_) all.value += part.of(quantity).value;
  const bool any_empty = std::any_of(parts_.begin(), parts_.end(),
                                     [&](const Part& part) { return is_empty(part.of(quantity)); });
  if (all.value == 0 && any_empty) all.state = ReadingState::absurd;
  return all;
}

Reading SystemBatteries::lowest_voltage(Time now) const {
  Reading all = begin(Quantity::battery_voltage, now);
  const auto drains = [](const Part& part) {
    const auto& current = part.newest[index(Quantity::battery_current)];
    return current && current->state == ReadingState::ok && current->value > 0;
  };
  const bool any_drains = std::any_of(parts_.begin(), parts_.end(), drains);
  std::optional<std::int64_t> lowest_mv;
  for (const Part& part : parts_) {
    if (any_drains && !drains(part)) continue;
    const std::int64_t voltage_mv = part.of(Quantity::battery_voltage).value;
    lowest_mv = std::min(lowest_mv.value_or(voltage_mv), voltage_mv);
  }
  all.value = *lowest_mv;
  return all;
}

Reading SystemBatteries::current_at(const Reading& voltage, Time now) const {
  Reading all = begin(Quantity::battery_current, now);
  if (all.state == ReadingState::ok) all.state = voltage.state;
  if (all.state != ReadingState::ok) return all;
  double power_uw = 0;
  for (const Part& part : parts_) {
    power_uw += static_cast<double>(part.of(Quantity::battery_voltage).value) *
                static_cast<double>(part.of(Quantity::battery_current).value);
  }
  all.value = std::llround(power_uw / static_cast<double>(voltage.value));
  return all;
}

void SystemBatteries::read(Time now, std::vector<Reading>& readings) {
  for (Part& part : parts_) {
    scratch_.clear();
    part.supply->read(now, scratch_);
    for (const Reading& reading : scratch_) part.newest[index(reading.quantity)] = reading;
    if (parts_.size() == 1) readings.insert(readings.end(), scratch_.begin(), scratch_.end());
  }
  if (parts_.size() == 1) return;
  for (const Quantity quantity : {Quantity::battery_capacity, Quantity::battery_energy}) {
    if (all_tell(quantity, now)) readings.push_back(sum(quantity, now));
  }
  if (!all_tell(Quantity::battery_voltage, now)) return;
  const Reading voltage = lowest_voltage(now);
  readings.push_back(voltage);
  if (all_tell(Quantity::battery_current, now)) readings.push_back(current_at(voltage, now));
}

std::string SystemBatteries::explain(const Reading& reading) const {
  if (reading.quantity < kFirstOfBattery || reading.state == ReadingState::ok) return "";
  if (parts_.size() == 1) return parts_.front().supply->explain(reading);
  std::string text;
  for (const Part& part : parts_) {
    const std::optional<Reading>& newest = part.newest[index(reading.quantity)];
    if (!newest || newest->state != reading.state) continue;
    text += (text.empty() ? "" : "; ") + part.supply->explain(*newest);
  }
  return text;
}

}  // namespace gearshift
