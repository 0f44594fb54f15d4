#include "trace/recording_text.h"

#include "trace/csv_text.h"
#include "trace/recording_names.h"

namespace gearshift {
namespace {

std::string number(std::string_view name, std::int64_t value) {
  return " " + std::string(name) + "=" + std::to_string(value);
}

std::string exact_text(const KnobSpace& space, const Observation& observation) {
  std::string text = exact_text(space, observation.setting) + ": ";
  text += outcome_name(observation.outcome);
  text += number("power_mean_mw", observation.power_mean_mw);
  text += number("power_max_mw", observation.power_max_mw);
  text += number("power_margin_mw", observation.power_margin_mw);
  text += number("limit_mw", observation.limit_mw);
  if (observation.power_is_estimate) text += " power_is_estimate";
  if (observation.from_memory) text += " from_memory";
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Cost& cost = observation.cost[index(kind)];
    if (cost.minibatches == 0) continue;
    text += " " + std::string(kind_name(kind)) + ":";
    text += number("minibatches", cost.minibatches);
    text += number("mean_ns", cost.minibatch_mean.count());
    text += number("stddev_ns", cost.minibatch_stddev.count());
    text += number("p99_ns", cost.minibatch_p99.count());
    text += number("fetch_stall_ns", cost.fetch_stall_mean.count());
    text += number("compute_ns", cost.compute_mean.count());
  }
  text += number("duration_ns", observation.duration.count());
  return text + " confidence=" + shortest_text(observation.confidence);
}

}  // namespace

std::string exact_text(const KnobSpace& space, const Setting& setting) {
  std::string text = space.describe(setting.mode);
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const std::int32_t batch_size = setting.batch_size[index(kind)];
    if (batch_size == 0) continue;
    text += text.empty() ? "" : " ";
    text += std::string(kind_name(kind)) + "_batch=" + std::to_string(batch_size);
  }
  text += text.empty() ? "" : " ";
  return text + "run=" + std::string(run_name(setting.run));
}

std::string exact_text(const KnobSpace& space, const RecordedNote& note) {
  std::string text(note_name(note.type));
  if (note.workload != 0) text += number("workload", note.workload);
  if (note.value != 0) text += number("value", note.value);
  if (note.observation) {
    text += ": " + exact_text(space, *note.observation);
  } else if (note.setting) {
    text += ": " + exact_text(space, *note.setting);
  }
  if (!note.text.empty()) text += ": " + note.text;
  return text;
}

std::string exact_text(const SentCommand& sent) {
  return "command: workload=" + std::to_string(sent.workload) +
         number("sequence", sent.command.sequence) + number("batch_size", sent.command.batch_size) +
         (sent.command.type == CommandType::checkpoint
              ? " " + std::string(kCheckpointWord)
              : " run=" + std::string(run_name(sent.command.run)));
}

std::string exact_text(const KnobSpace& space, const KnobCall& call) {
  switch (call.action) {
    case KnobAction::read:
    case KnobAction::write: {
      const Knob& knob = space.knobs[call.knob];
      std::string text = std::string(word_of(call.action)) + " " + knob.name;
      if (call.action == KnobAction::write) text += "=" + describe_value(knob.unit, call.value);
      return text;
    }
    case KnobAction::manage:
      return "manage pid " + std::to_string(call.pid) + " (" + std::string(kind_name(call.kind)) +
             ")";
    case KnobAction::restore:
      break;
  }
  return "restore";
}

std::string exact_text(const KnobSpace& space, const Request& request) {
  switch (request.what) {
    case Request::What::measure:
      return "measure " + exact_text(space, request.setting);
    case Request::What::remeasure:
      return "remeasure " + exact_text(space, request.setting);
    case Request::What::hold:
      return "hold " + exact_text(space, request.setting);
    case Request::What::hold_safe:
      return "hold the safe setting";
    case Request::What::failed:
      break;
  }
  return "fail";
}

RecordedNote keep(const Note& note) {
  RecordedNote kept{note.type, note.time, note.workload,         note.value,
                    {},        {},        std::string(note.text)};
  if (note.setting != nullptr) kept.setting = *note.setting;
  if (note.observation != nullptr) kept.observation = *note.observation;
  return kept;
}

}  // namespace gearshift
