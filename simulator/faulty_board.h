// A sensor and an actuator that fail by plan; around any others.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/actuator.h"
#include "controller/sensor.h"
#include "simulator/fault_plan.h"

namespace gearshift {

// Missing, stuck and absurd power readings.
class FaultySensor : public Sensor {
 public:
  // `plan` must outlive the sensor.
  FaultySensor(std::unique_ptr<Sensor> sensor, const FaultPlan& plan)
      : sensor_(std::move(sensor)), plan_(plan) {}
  void read(Time now, std::vector<Reading>& readings) override;
  std::string explain(const Reading& reading) const override;
  void look_closely(bool closely) override { sensor_->look_closely(closely); }

 private:
  std::unique_ptr<Sensor> sensor_;
  const FaultPlan& plan_;
  std::optional<std::int64_t> stuck_mw_;
};

// Knobs that refuse, lie, are held down, or that nobody sets.
class FaultyActuator : public Actuator {
 public:
  // `plan` and `clock` must outlive the actuator.
  FaultyActuator(std::unique_ptr<Actuator> actuator, const FaultPlan& plan, const Clock& clock)
      : actuator_(std::move(actuator)), plan_(plan), clock_(clock) {}
  const KnobSpace& knobs() const override { return actuator_->knobs(); }
  Progress write(std::size_t knob, std::int64_t value) override;
  std::optional<std::int64_t> read(std::size_t knob) override;
  void manage(std::int32_t pid, Kind kind) override { actuator_->manage(pid, kind); }
  void restore() override { actuator_->restore(); }

 private:
  bool vanished();
  void throttle(std::size_t knob);
  void force(std::size_t knob, std::int64_t value);

  std::unique_ptr<Actuator> actuator_;
  const FaultPlan& plan_;
  const Clock& clock_;
  std::array<std::optional<std::int64_t>, kMaxKnobs> claimed_{};  // by a knob that lies
  // What a throttled knob goes back to.
  std::array<std::optional<std::int64_t>, kMaxKnobs> held_down_{};
  bool vanished_ = false;
};

}  // namespace gearshift
