#include "limits/battery_gauge.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// A gauge that counts in percent steps by so much at once, and by as much again where it rounds.
constexpr double kStep = 0.02;
// Gauges calibrate themselves: a full battery may read more than its capacity.
constexpr double kMostOfCapacity = 1.2;
// So many times longer than bad news must good news agree with itself before it is believed.
constexpr int kGoodNewsPatience = 10;
// It moves with the power, and at once: what it was says nothing of what it is.
constexpr Duration kVoltageStaleAfter = std::chrono::seconds(10);

}  // namespace

void BatteryGauge::read(const Reading& reading) {
  if (reading.quantity == Quantity::battery_energy) {
    judge_energy(reading);
    return;
  }
  const bool absurd = reading.quantity != Quantity::battery_current && reading.value <= 0;
  if (absurd) return;
  believed_.add(reading);
  if (reading.quantity == Quantity::battery_voltage && reading.state == ReadingState::ok) {
    voltage_read_ = reading.taken;
  }
}

void BatteryGauge::judge_energy(const Reading& reading) {
  if (reading.state != ReadingState::ok || reading.value < 0) return;
  Battery next = believed_;
  next.add(reading);
  const double energy_wh = *next.energy_wh;
  if (believed_.capacity_wh && energy_wh > kMostOfCapacity * *believed_.capacity_wh) return;
  if (believed_.known() && !possible(energy_wh, reading.taken, believed_)) {
    if (reading.value == 0) return;  // no battery is empty at once, a dead gauge is
    const bool agrees = doubted_ && possible(energy_wh, reading.taken, *doubted_);
    if (!agrees) doubted_since_ = reading.taken;
    doubted_ = next;
    const int patience = energy_wh < *believed_.energy_wh ? 1 : kGoodNewsPatience;
    if (reading.taken - doubted_since_ < patience * stale_after_) return;
  }
  doubted_.reset();
  believed_ = next;
  most_seen_wh_ = std::max(most_seen_wh_, energy_wh);
}

bool BatteryGauge::possible(double energy_wh, Time taken, const Battery& since) const {
  const double span_h = std::max(0.0, seconds(taken - since.taken)) / kJoulesInWh;
  const double step_wh = kStep * since.capacity_wh.value_or(most_seen_wh_);
  return std::abs(energy_wh - *since.energy_wh) <= most_w_ * span_h + step_wh;
}

std::optional<double> BatteryGauge::voltage_v(Time now) const {
  return now - voltage_read_ > kVoltageStaleAfter ? std::nullopt : believed_.voltage_v;
}

double BatteryGauge::energy_wh(Time now) const {
  if (!known()) return 0;
  if (!late(now)) return *believed_.energy_wh;
  const double since_h = seconds(now - believed_.taken) / kJoulesInWh;
  return std::max(0.0, *believed_.energy_wh - most_w_ * since_h);
}

double BatteryGauge::capacity_wh(double given) const {
  if (believed_.capacity_wh) return *believed_.capacity_wh;
  return given > 0 ? given : most_seen_wh_;
}

}  // namespace gearshift
