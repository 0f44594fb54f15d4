// The sensor and the knobs of a simulated board, as the controller meets them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/actuator.h"
#include "controller/sensor.h"
#include "simulator/plant.h"

namespace gearshift {

class SimulatedSensor : public Sensor {
 public:
  // A reading is taken at the first call in each `interval`, and repeated until the next; 0: at
  // every call.
  SimulatedSensor(Plant& plant, Duration interval) : plant_(plant), interval_(interval) {}
  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading&) const override { return {}; }

 private:
  Plant& plant_;
  const Duration interval_;
  std::optional<Reading> newest_;
};

class SimulatedActuator : public Actuator {
 public:
  explicit SimulatedActuator(Plant& plant) : plant_(plant) {}
  const KnobSpace& knobs() const override { return plant_.knobs(); }
  Progress write(std::size_t knob, std::int64_t value) override {
    return plant_.write(knob, value);
  }
  std::optional<std::int64_t> read(std::size_t knob) override { return plant_.read(knob); }
  void manage(std::int32_t, Kind) override {}
  void restore() override { plant_.restore(); }

 private:
  Plant& plant_;
};

}  // namespace gearshift
