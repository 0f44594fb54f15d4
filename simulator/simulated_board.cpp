#include "simulator/simulated_board.h"

namespace gearshift {

void SimulatedSensor::read(Time now, std::vector<Reading>& readings) {
  readings.push_back({.quantity = Quantity::power,
                      .state = ReadingState::ok,
                      .estimate = false,
                      .channel = 0,
                      .value = plant_.sensed_power_mw(),
                      .taken = now});
}

}  // namespace gearshift
