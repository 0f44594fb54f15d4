#include "simulator/simulated_board.h"

#include <cmath>

namespace gearshift {

void SimulatedSensor::read(Time now, std::vector<Reading>& readings) {
  readings.push_back({.quantity = Quantity::power,
                      .state = ReadingState::ok,
                      .estimate = false,
                      .channel = 0,
                      .value = std::llround(1000 * plant_.sensed_power_w()),
                      .taken = now});
}

}  // namespace gearshift
