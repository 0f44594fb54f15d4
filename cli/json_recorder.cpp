#include "cli/json_recorder.h"

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/boottime_clock.h"

namespace gearshift {

using nlohmann::json;

double to_watts(std::int64_t power_mw) { return static_cast<double>(power_mw) / 1000.0; }
double to_ms(Duration duration) { return seconds(duration) * 1e3; }

json to_json(const KnobSpace& space, const Setting& setting) {
  json out = json::object();
  for (std::size_t i = 0; i < space.size() && i < setting.mode.count; ++i) {
    const Knob& knob = space.knobs[i];
    const std::int64_t value = setting.mode.values[i];
    if (unit_scale(knob.unit) == 1.0) {
      out[knob.name] = value;
    } else {
      out[knob.name] = static_cast<double>(value) / unit_scale(knob.unit);
    }
  }
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const std::int32_t batch_size = setting.batch_size[index(kind)];
    if (batch_size > 0) out[std::string(kind_name(kind)) + "_batch"] = batch_size;
  }
  out["run"] = run_name(setting.run);
  return out;
}

json to_json(const Goal& goal) {
  json out = {{"objective", objective_name(goal.objective)}};
  if (goal.weighs()) out["energy_weight"] = goal.energy_weight;
  if (goal.objective == Objective::target) out["priced_power_w"] = to_watts(goal.priced_power_mw);
  if (goal.latency) out["latency_ms"] = to_ms(*goal.latency);
  if (goal.arrivals_per_s > 0) out["arrivals_per_s"] = goal.arrivals_per_s;
  if (goal.energy_j) out["energy_limit_j"] = *goal.energy_j;
  if (goal.objective == Objective::weighted) {
    out["reference_ms"] = goal.has_reference() ? json(1e3 * goal.reference_s) : json(nullptr);
    out["reference_j"] = goal.has_reference() ? json(goal.reference_j) : json(nullptr);
  }
  return out;
}

json to_json(const KnobSpace& space, const Observation& observation, const Goal& goal) {
  json out = {{"setting", to_json(space, observation.setting)},
              {"ok", observation.ok()},
              {"reason", outcome_name(observation.outcome)},
              {"power_w", to_watts(observation.power_mean_mw)},
              {"power_max_w", to_watts(observation.power_max_mw)},
              {"power_margin_w", to_watts(observation.power_margin_mw)},
              {"power_is_estimate", observation.power_is_estimate},
              {"duration_s", seconds(observation.duration)},
              {"confidence", observation.confidence}};
  if (observation.limit_mw > 0) out["limit_w"] = to_watts(observation.limit_mw);
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Cost& cost = observation.cost[index(kind)];
    if (cost.minibatches == 0) continue;
    json& of_kind = out[std::string(kind_name(kind))];
    of_kind = {{"minibatch_ms", to_ms(cost.minibatch_mean)},
               {"minibatch_ms_stddev", to_ms(cost.minibatch_stddev)},
               {"minibatch_ms_p99", to_ms(cost.minibatch_p99)},
               {"fetch_stall_ms", to_ms(cost.fetch_stall_mean)},
               {"compute_ms", to_ms(cost.compute_mean)},
               {"count", cost.minibatches}};
    if (observation.ok()) {
      of_kind["sample_ms"] = observation.sample_s(kind) * 1e3;
      of_kind["energy_j"] = observation.energy_j(goal, kind);
    }
  }
  return out;
}

json to_json(const DriftAlarm& alarm) {
  return {{"quantity", drift_quantity_name(alarm.quantity)},
          {"unit", alarm.quantity == DriftQuantity::power ? "W" : "ms"},
          {"expected", alarm.expected},
          {"measured", alarm.measured},
          {"statistic", alarm.statistic},
          {"threshold", alarm.threshold},
          {"repeats", alarm.repeats}};
}

json to_json(const RequestReport& report) {
  return {{"span_s", seconds(report.span)},
          {"arrived", report.arrived},
          {"served", report.served},
          {"late", report.late},
          {"refused", report.refused},
          {"queued", report.queued},
          {"latency_p50_ms", to_ms(report.latency_p50)},
          {"latency_p95_ms", to_ms(report.latency_p95)},
          {"latency_p99_ms", to_ms(report.latency_p99)},
          {"latency_max_ms", to_ms(report.latency_max)}};
}

std::string json_gap(std::uint64_t lines) {
  return json{{"note", "unread"}, {"lines", lines}}.dump() + '\n';
}

void JsonRecorder::print(json line) {
  const bool dated = !std::exchange(printed_, true) || line["note"] == "status";
  if (dated && outlet_ != nullptr) line["unix_s"] = static_cast<double>(unix_time_ms()) / 1000;
  // Script text and workload names come from outside: bytes that are no UTF-8 are replaced.
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
  if (outlet_ != nullptr) {
    outlet_->tell(text + '\n');
    return;
  }
  const bool written = std::fprintf(file_, "%s\n", text.c_str()) >= 0 && std::fflush(file_) == 0;
  if (!written && failure_ == 0) failure_ = errno;
}

void JsonRecorder::tick(const TickInputs& inputs) {
  if (!start_) start_ = inputs.now;
}

void JsonRecorder::note(const Note& note) {
  json line = {{"note", note_name(note.type)}, {"time_s", since_start(note.time)}};
  if (!note.text.empty()) line["text"] = note.text;
  switch (note.type) {
    case NoteType::attached:
      line["workload"] = note.workload;
      line["managed"] = note.value != 0;
      break;
    case NoteType::detached:
    case NoteType::checkpoint:
    case NoteType::unsaved:
      line["workload"] = note.workload;
      break;
    case NoteType::baseload:
    case NoteType::over_cap:
    case NoteType::rationed:
      line["power_w"] = to_watts(note.value);
      break;
    case NoteType::goal:
      line["cap_w"] = note.value > 0 ? json(to_watts(note.value)) : json(nullptr);
      break;
    case NoteType::temperature:
      line["zones"] = note.value;
      break;
    case NoteType::applied:
      line["took_s"] = static_cast<double>(note.value) / 1e9;
      break;
    case NoteType::gap:
      line["gap_s"] = static_cast<double>(note.value) / 1e9;
      break;
    case NoteType::stop:
      line["signal"] = note.value;
      break;
    default:
      break;
  }
  if (note.setting != nullptr && note.observation == nullptr) {
    line["setting"] = to_json(space_, *note.setting);
  }
  if (note.alarm != nullptr) line.update(to_json(*note.alarm));
  if (note.observation != nullptr) line.update(to_json(space_, *note.observation, goal_));
  print(std::move(line));
}

json to_json(const Battery& battery, Duration age) {
  json out = {{"energy_wh", battery.energy_wh.value_or(0)},
              {"energy_age_s", seconds(age)},
              {"charging", battery.charging()},
              {"estimate", battery.estimate}};
  if (battery.capacity_wh) out["capacity_wh"] = *battery.capacity_wh;
  if (battery.voltage_v) out["voltage_v"] = *battery.voltage_v;
  if (battery.current_a) out["current_a"] = *battery.current_a;
  return out;
}

void JsonRecorder::status(const Status& status) {
  goal_ = status.goal;
  if (statuses_++ % 10 != 0) return;
  json line = {{"note", "status"},
               {"time_s", since_start(status.time)},
               {"phase", phase_name(status.phase)},
               {"power_is_estimate", status.power_is_estimate},
               {"setting", to_json(space_, status.setting)},
               {"measurements", status.measurements},
               {"repeats", status.repeats},
               {"drifts", status.drifts},
               {"workloads", status.workloads}};
  line["power_w"] = status.power_known ? json(to_watts(status.power_mw)) : json(nullptr);
  line["cap_w"] = status.cap_mw > 0 ? json(to_watts(status.cap_mw)) : json(nullptr);
  line["cap_source"] = status.cap_source.view();
  if (status.battery.known()) {
    line["battery"] = to_json(status.battery, status.time - status.battery.taken);
  }
  line.update(to_json(status.goal));
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Duration minibatch = status.minibatch[index(kind)];
    if (minibatch > Duration::zero()) {
      line[std::string(kind_name(kind)) + "_minibatch_ms"] = to_ms(minibatch);
    }
  }
  if (status.requests.span > Duration::zero()) line["requests"] = to_json(status.requests);
  print(std::move(line));
}

}  // namespace gearshift
