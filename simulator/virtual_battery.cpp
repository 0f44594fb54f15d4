#include "simulator/virtual_battery.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace gearshift {
namespace {

constexpr double kDayS = 86400;
constexpr double kMostSpanS = 10;

// Open-circuit voltage of a cell by its charge: the shape of common lithium-ion cells, steep at
// both ends and flat between.
constexpr std::array<std::pair<double, double>, 8> kCellV = {{{0.00, 3.00},
                                                              {0.05, 3.35},
                                                              {0.10, 3.48},
                                                              {0.20, 3.60},
                                                              {0.40, 3.70},
                                                              {0.60, 3.83},
                                                              {0.80, 3.99},
                                                              {1.00, 4.20}}};

double cell_v(double charge) {
  std::size_t i = 1;
  while (i + 1 < kCellV.size() && kCellV[i].first < charge) ++i;
  const auto [low, low_v] = kCellV[i - 1];
  const auto [high, high_v] = kCellV[i];
  return low_v + (high_v - low_v) * std::clamp((charge - low) / (high - low), 0.0, 1.0);
}

void require(bool holds, const char* what, double value) {
  if (holds) return;
  throw std::invalid_argument("battery: " + std::string(what) + ", not " + std::to_string(value));
}

}  // namespace

void VirtualBatterySpec::check() const {
  require(capacity_wh > 0 && capacity_wh <= 1e6, "its capacity is above 0 Wh, at most 1 MWh",
          capacity_wh);
  require(charge >= 0 && charge <= 1, "its charge is 0 to 100 %", 100 * charge);
  require(cells >= 1 && cells <= 100, "it has 1 to 100 cells in series", cells);
  require(resistance_ohm >= 0 && resistance_ohm <= 10, "its resistance is 0 to 10 ohm",
          resistance_ohm);
  require(charge_efficiency > 0 && charge_efficiency <= 1,
          "its charge efficiency is above 0, at most 1", charge_efficiency);
  require(self_discharge_per_day >= 0 && self_discharge_per_day < 1,
          "its self-discharge a day is 0 to below 1", self_discharge_per_day);
  require(cutoff_v >= 0, "its cutoff voltage is 0 V or more", cutoff_v);
}

VirtualBattery::VirtualBattery(const VirtualBatterySpec& spec)
    : spec_(spec), energy_wh_(spec.charge * spec.capacity_wh) {
  spec_.check();
  voltage_v_ = open_circuit_v();
  empty_ = energy_wh_ <= 0;
}

double VirtualBattery::open_circuit_v() const { return spec_.cells * cell_v(charge()); }

void VirtualBattery::advance(double power_w, double span_s) {
  while (span_s > 0) {
    const double step_s = std::min(span_s, kMostSpanS);
    step(power_w, step_s);
    span_s -= step_s;
  }
}

void VirtualBattery::step(double power_w, double span_s) {
  const double self_wh = energy_wh_ * spec_.self_discharge_per_day * span_s / kDayS;
  energy_wh_ -= self_wh;
  lost_j_ += self_wh * kJoulesInWh;
  const double open_v = open_circuit_v();
  const double resistance = spec_.resistance_ohm;
  if (power_w > 0 && empty_) {
    current_a_ = 0;
    voltage_v_ = open_v;
    return;
  }
  const double under_root = open_v * open_v - 4 * resistance * power_w;
  const bool collapses = under_root < 0;
  current_a_ = resistance > 0 ? (open_v - std::sqrt(std::max(0.0, under_root))) / (2 * resistance)
                              : power_w / open_v;
  voltage_v_ = open_v - current_a_ * resistance;
  const double cells_j = open_v * current_a_ * span_s;  // out of the cells
  if (cells_j < 0) {
    const double kept_wh = -cells_j * spec_.charge_efficiency / kJoulesInWh;
    const double room_wh = spec_.capacity_wh - energy_wh_;
    const double taken = kept_wh > room_wh ? room_wh / kept_wh : 1;
    energy_wh_ += taken * kept_wh;
    lost_j_ += taken * -power_w * span_s - taken * kept_wh * kJoulesInWh;
    refused_j_ += (1 - taken) * -power_w * span_s;
    empty_ = energy_wh_ <= 0;
    return;
  }
  energy_wh_ = std::max(0.0, energy_wh_ - cells_j / kJoulesInWh);
  lost_j_ += current_a_ * current_a_ * resistance * span_s;
  empty_ = energy_wh_ <= 0 || collapses || (power_w > 0 && voltage_v_ < spec_.cutoff_v);
}

Battery VirtualBattery::reading() const {
  Battery battery;
  battery.energy_wh = energy_wh_;
  battery.capacity_wh = spec_.capacity_wh;
  battery.voltage_v = voltage_v_;
  battery.current_a = current_a_;
  return battery;
}

}  // namespace gearshift
