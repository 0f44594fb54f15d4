#include "limits/drain_meter.h"

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr double kNewest = 0.5;  // weight of the newest window

}  // namespace

void DrainMeter::add_power(const Reading& reading) {
  if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) return;
  power_sum_w_ += static_cast<double>(reading.value) / 1000;
  ++power_count_;
}

void DrainMeter::add_energy(double energy_wh, Time taken) {
  if (began_ && taken - *began_ < window_) return;
  const double span_s = began_ ? seconds(taken - *began_) : 0;
  // After a gap in the readings nobody knows what the board drew.
  if (began_ && taken - *began_ < 2 * window_ && power_count_ > 0) {
    const double drained_w = (energy_wh_ - energy_wh) * kJoulesInWh / span_s;
    const double newest_w = drained_w - power_sum_w_ / static_cast<double>(power_count_);
    other_w_ = other_w_ ? (1 - kNewest) * *other_w_ + kNewest * newest_w : newest_w;
  }
  began_ = taken;
  energy_wh_ = energy_wh;
  power_sum_w_ = 0;
  power_count_ = 0;
}

}  // namespace gearshift
