#include "trace/recorded_inputs.h"

#include <utility>

namespace gearshift {
namespace {

KnobCall knob_call(RecordingWriter& writer, KnobAction action) {
  KnobCall call;
  call.call = writer.next_call();
  call.action = action;
  return call;
}

KnobOutcome outcome_of(Progress progress) {
  return progress == Progress::done   ? KnobOutcome::done
         : progress == Progress::more ? KnobOutcome::more
                                      : KnobOutcome::away;
}

}  // namespace

RecordedActuator::RecordedActuator(std::unique_ptr<Actuator> actuator, RecordingWriter& writer)
    : actuator_(std::move(actuator)), writer_(writer), answered_(actuator_->knobs().size()) {}

Progress RecordedActuator::write(std::size_t knob, std::int64_t value) {
  KnobCall call = knob_call(writer_, KnobAction::write);
  call.knob = static_cast<std::uint32_t>(knob);
  call.value = value;
  try {
    const Progress progress = actuator_->write(knob, value);
    call.outcome = outcome_of(progress);
    call.wrote = actuator_->wrote();
    writer_.knob_call(call, {});
    return progress;
  } catch (const KnobError& error) {
    call.outcome = KnobOutcome::failed;
    call.wrote = actuator_->wrote();
    writer_.knob_call(call, error.what());
    throw;
  }
}

std::optional<std::int64_t> RecordedActuator::read(std::size_t knob) {
  KnobCall call = knob_call(writer_, KnobAction::read);
  const std::optional<std::int64_t> value = actuator_->read(knob);
  if (answered_[knob] == value) return value;
  answered_[knob] = value;
  call.knob = static_cast<std::uint32_t>(knob);
  call.known = value.has_value();
  call.value = value.value_or(0);
  writer_.knob_call(call, {});
  return value;
}

void RecordedActuator::manage(std::int32_t pid, Kind kind) {
  KnobCall call = knob_call(writer_, KnobAction::manage);
  call.pid = pid;
  call.kind = kind;
  try {
    actuator_->manage(pid, kind);
    writer_.knob_call(call, {});
  } catch (const KnobError& error) {
    call.outcome = KnobOutcome::failed;
    writer_.knob_call(call, error.what());
    throw;
  }
}

void RecordedActuator::restore() {
  KnobCall call = knob_call(writer_, KnobAction::restore);
  try {
    actuator_->restore();
    writer_.knob_call(call, {});
  } catch (const KnobError& error) {
    call.outcome = KnobOutcome::failed;
    writer_.knob_call(call, error.what());
    throw;
  }
}

std::string RecordedSensor::explain(const Reading& reading) const {
  std::string why = sensor_->explain(reading);
  if (!why.empty()) writer_.explanation(reading, why);
  return why;
}

Limit RecordedLimit::limit(Time now) {
  const Limit limit = limit_.limit(now);
  if (limit != answered_) writer_.limit({source_, limit});
  answered_ = limit;
  return limit;
}

void RecordedWorld::command(WorkloadHandle workload, const WorkloadCommand& command) {
  writer_.command({workload, command});
  world_.command(workload, command);
}

std::string_view RecordedWorld::script() {
  const std::string_view text = world_.script();
  writer_.script(text);
  return text;
}

bool RecordedThinkTime::over() {
  ++looks_;
  if (!time_.over()) return false;
  writer_.script_stop({looks_});
  return true;
}

std::unique_ptr<Actuator> recorded(std::unique_ptr<Actuator> actuator, RecordingWriter& writer) {
  return std::make_unique<RecordedActuator>(std::move(actuator), writer);
}

std::vector<std::unique_ptr<Sensor>> recorded(std::vector<std::unique_ptr<Sensor>> sensors,
                                              RecordingWriter& writer) {
  for (auto& sensor : sensors) sensor = std::make_unique<RecordedSensor>(std::move(sensor), writer);
  return sensors;
}

}  // namespace gearshift
