#include "sensors/battery_integral.h"

#include <algorithm>

namespace gearshift {
namespace {

// W, by the readings of one tick. A sensor that hangs repeats its newest one.
struct Flow {
  std::optional<double> board_w;
  std::optional<double> terminals_w;  // out of the battery
};

Flow flow_of(const std::vector<Reading>& readings, Time taken_since) {
  Battery terminals;
  Flow flow;
  for (const Reading& reading : readings) {
    if (reading.taken < taken_since) continue;
    terminals.add(reading);
    if (reading.quantity == Quantity::power && reading.state == ReadingState::ok) {
      flow.board_w = static_cast<double>(reading.value) / 1000;
    }
  }
  if (terminals.voltage_v && terminals.current_a) {
    flow.terminals_w = *terminals.voltage_v * *terminals.current_a;
  }
  return flow;
}

}  // namespace

void BatteryIntegral::read(Time now, std::vector<Reading>& readings) {
  const Flow flow = flow_of(readings, now - stale_after_);
  terminals_read_ = terminals_read_ || flow.terminals_w;
  const std::optional<double> measured_w = terminals_read_ ? flow.terminals_w : flow.board_w;
  if (measured_w) most_measured_w_ = std::max(most_measured_w_, *measured_w);
  const Duration awake = awake_ ? awake_() : now.time_since_epoch();
  if (charged_) {
    const double most_w = most_measured_w_ > 0 ? most_measured_w_ : most_w_;
    const double span_h = seconds(awake - *charged_) / kJoulesInWh;
    energy_wh_ -= measured_w.value_or(most_w) * span_h;
    energy_wh_ = std::clamp(energy_wh_, 0.0, capacity_wh_);
  }
  charged_ = awake;
  append_readings({.energy_wh = energy_wh_, .capacity_wh = capacity_wh_, .estimate = true}, now,
                  readings);
}

}  // namespace gearshift
