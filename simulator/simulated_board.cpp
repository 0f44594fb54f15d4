#include "simulator/simulated_board.h"

#include <cmath>

namespace gearshift {

void SimulatedSensor::read(Time now, std::vector<Reading>& readings) {
  const auto cycle = [this](Time time) {
    return interval_ > Duration::zero() ? time.time_since_epoch() / interval_
                                        : time.time_since_epoch().count();
  };
  if (!newest_ || cycle(newest_->taken) != cycle(now)) {
    newest_ = {.quantity = Quantity::power,
               .state = ReadingState::ok,
               .estimate = false,
               .channel = 0,
               .value = plant_.sensed_power_mw(),
               .taken = now};
  }
  readings.push_back(*newest_);
  if (const Enclosure* enclosure = plant_.enclosure()) {
    readings.push_back({.quantity = Quantity::temperature,
                        .state = ReadingState::ok,
                        .estimate = false,
                        .channel = 0,
                        .value = std::llround(1000 * enclosure->temperature_c()),
                        .taken = now});
  }
  if (const Supply* supply = plant_.supply()) {
    append_readings(supply->battery().reading(), now, readings);
  }
}

}  // namespace gearshift
