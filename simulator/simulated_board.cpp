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

void SimulatedActuator::restore() {
  for (std::size_t knob = 0; knob < knobs().size(); ++knob) {
    while (plant_.write(knob, found_.values[knob]) == Progress::more) continue;
  }
  for (std::size_t knob = 0; knob < knobs().size(); ++knob) plant_.read(knob);
}

}  // namespace gearshift
