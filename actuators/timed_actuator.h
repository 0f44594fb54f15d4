// Knobs whose writes are looked at with a clock: the files of a board take their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "controller/actuator.h"
#include "controller/clock.h"

namespace gearshift {

class TimedActuator : public Actuator {
 public:
  // `clock` must outlive it.
  TimedActuator(std::unique_ptr<Actuator> actuator, const Clock& clock)
      : actuator_(std::move(actuator)), clock_(clock) {}

  const KnobSpace& knobs() const override { return actuator_->knobs(); }
  // One that fails may have been made.
  Progress write(std::size_t knob, std::int64_t value) override {
    const Time begin = clock_.now();
    wrote_ = begin;
    const Progress progress = actuator_->write(knob, value);
    wrote_ = begin + (clock_.now() - begin) / 2;
    return progress;
  }
  std::optional<Time> wrote() const override { return wrote_; }
  std::optional<std::int64_t> read(std::size_t knob) override { return actuator_->read(knob); }
  void manage(std::int32_t pid, Kind kind) override { actuator_->manage(pid, kind); }
  void restore() override { actuator_->restore(); }

 private:
  std::unique_ptr<Actuator> actuator_;
  const Clock& clock_;
  std::optional<Time> wrote_;
};

}  // namespace gearshift
