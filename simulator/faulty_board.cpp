#include "simulator/faulty_board.h"

#include <algorithm>

namespace gearshift {

void FaultySensor::read(Time now, std::vector<Reading>& readings) {
  const std::size_t first = readings.size();
  sensor_->read(now, readings);
  const bool missing = active_fault(plan_, FaultKind::reading_missing, now) != nullptr;
  const bool absurd = active_fault(plan_, FaultKind::reading_absurd, now) != nullptr;
  const bool stuck = active_fault(plan_, FaultKind::reading_stuck, now) != nullptr;
  if (!stuck) stuck_mw_.reset();
  for (std::size_t i = first; i < readings.size(); ++i) {
    Reading& reading = readings[i];
    if (reading.quantity != Quantity::power) continue;
    if (stuck) {
      if (!stuck_mw_) stuck_mw_ = reading.value;
      reading.value = *stuck_mw_;
    }
    if (absurd) reading.state = ReadingState::absurd;
    if (missing) reading.state = ReadingState::missing;
  }
}

std::string FaultySensor::explain(const Reading& reading) const {
  if (reading.state != ReadingState::ok) return "power: a simulated fault";
  return sensor_->explain(reading);
}

Progress FaultyActuator::write(std::size_t knob, std::int64_t value) {
  const Time now = clock_.now();
  if (vanished()) return Progress::away;
  if (active_fault(plan_, FaultKind::knob_refuses, now, knob) != nullptr) {
    const Knob& described = knobs().knobs[knob];
    throw KnobError(described.name + ": cannot write " + describe_value(described.unit, value) +
                    ": a simulated fault");
  }
  if (active_fault(plan_, FaultKind::knob_lies, now, knob) != nullptr) {
    claimed_[knob] = value;
    return Progress::done;
  }
  claimed_[knob].reset();
  if (const Fault* fault = active_fault(plan_, FaultKind::board_throttles, now, knob)) {
    held_down_[knob] = value;
    return actuator_->write(knob, std::min(value, fault->value));
  }
  held_down_[knob].reset();
  return actuator_->write(knob, value);
}

std::optional<std::int64_t> FaultyActuator::read(std::size_t knob) {
  if (vanished()) return std::nullopt;
  throttle(knob);
  if (active_fault(plan_, FaultKind::knob_lies, clock_.now(), knob) != nullptr && claimed_[knob]) {
    return claimed_[knob];
  }
  return actuator_->read(knob);
}

// Looked at every tick. As where the helper's guardian puts back a board that was found in MAXN.
bool FaultyActuator::vanished() {
  const bool before = vanished_;
  vanished_ = active_fault(plan_, FaultKind::helper_vanishes, clock_.now()) != nullptr;
  for (std::size_t i = 0; vanished_ && !before && i < knobs().size(); ++i) {
    force(i, knobs().knobs[i].values.back());
    claimed_[i].reset();
    held_down_[i].reset();
  }
  return vanished_;
}

// Nobody asked for it, so nobody is told where it fails (a profile may have no cell for the mode).
void FaultyActuator::force(std::size_t knob, std::int64_t value) {
  try {
    while (actuator_->write(knob, value) == Progress::more) continue;
  } catch (const KnobError&) {
    return;
  }
}

// A board lowers a clock by itself, and raises it again when it has cooled down.
void FaultyActuator::throttle(std::size_t knob) {
  const Fault* fault = active_fault(plan_, FaultKind::board_throttles, clock_.now(), knob);
  const std::optional<std::int64_t> actual = actuator_->read(knob);
  if (fault != nullptr && actual && *actual > fault->value) {
    held_down_[knob] = actual;
    force(knob, fault->value);
  } else if (fault == nullptr && held_down_[knob]) {
    const std::int64_t before = *held_down_[knob];
    held_down_[knob].reset();
    force(knob, before);
  }
}

}  // namespace gearshift
