// gearshift status: what a running daemon is doing, for people or as JSON.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"
#include "cli/goal_flags.h"
#include "cli/json_recorder.h"
#include "cli/note_text.h"
#include "cli/recording_end.h"
#include "controller/goal.h"
#include "controller/setting.h"

namespace gearshift {
namespace {

using Json = nlohmann::ordered_json;

struct StatusOptions {
  ControlAddress control;
  bool json = false;
};

// What the answer has of it: what is minimised, and the limits beside the power cap.
Goal goal_of(const wire::StatusAnswer& status) {
  Goal goal;
  for (const Objective objective : kObjectives) {
    if (objective_name(objective) == status.objective) goal.objective = objective;
  }
  goal.energy_weight = static_cast<double>(status.energy_weight_ppm) / 1e6;
  goal.reference_s = static_cast<double>(status.reference_ns) / 1e9;
  goal.reference_j = static_cast<double>(status.reference_uj) / 1e6;
  goal.priced_power_mw = status.priced_power_mw;
  if (status.latency_ns > 0) goal.latency = Duration(status.latency_ns);
  if (status.energy_uj > 0) goal.energy_j = static_cast<double>(status.energy_uj) / 1e6;
  if (status.arrival_interval_ns > 0) {
    goal.arrivals_per_s = 1e9 / static_cast<double>(status.arrival_interval_ns);
  }
  return goal;
}

// The fields, names and units of the notes `status` of `gearshift run --json`.
std::string status_json(const wire::StatusAnswer& status) {
  Json out = {{"phase", status.phase}};
  out["power_w"] = status.power_known ? Json(to_watts(status.power_mw)) : Json();
  out["power_is_estimate"] = status.power_is_estimate;
  out["cap_w"] = status.cap_mw > 0 ? Json(to_watts(status.cap_mw)) : Json();
  out["cap_source"] = status.cap_source;
  out.update(to_json(goal_of(status)));
  out["objective"] = status.objective;
  Json& setting = out["setting"] = Json::object();
  for (const auto& [knob, value] : status.mode) setting[knob] = value;
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const std::int64_t batch_size = status.batch_size[index(kind)];
    if (batch_size > 0) setting[std::string(kind_name(kind)) + "_batch"] = batch_size;
  }
  setting["run"] = status.run;
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Duration minibatch{status.minibatch_ns[index(kind)]};
    if (minibatch <= Duration::zero()) continue;
    out[std::string(kind_name(kind)) + "_minibatch_ms"] = to_ms(minibatch);
  }
  if (status.arrival_interval_ns > 0) {
    out["requests"] = {{"served", status.requests_served},
                       {"late", status.requests_late},
                       {"queued", status.requests_queued},
                       {"latency_p99_ms", to_ms(Duration(status.latency_p99_ns))}};
  }
  out["workloads"] = status.workloads;
  out["measurements"] = status.measurements;
  out["repeats"] = status.repeats;
  out["drifts"] = status.drifts;
  if (status.battery.known()) {
    out["battery"] = to_json(status.battery, Duration(status.battery_age_ns));
  }
  if (!status.plan.empty()) out["plan"] = status.plan;
  if (!status.heat.empty()) out["heat"] = status.heat;
  if (!status.recording.file.empty()) out["recording"] = recording_state_json(status.recording);
  return out.dump();
}

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "weighted, energy weight 0.75, against 4.44 ms and 0.2 J a sample"
std::string objective_text(const wire::StatusAnswer& status) {
  std::string text = status.objective;
  const bool beside = status.objective == objective_name(Objective::throughput);
  if (beside && status.objective_by_default) text += kDefaultBesideRequests;
  const bool weighted = status.objective == objective_name(Objective::weighted);
  if (weighted || status.objective == objective_name(Objective::target)) {
    const double weight = static_cast<double>(status.energy_weight_ppm) / 1e6;
    text += number(", energy weight %.6g", weight);
  }
  if (weighted && status.reference_ns > 0) {
    text += number(", against %.4g ms", static_cast<double>(status.reference_ns) / 1e6);
    text += number(" and %.4g J a sample", static_cast<double>(status.reference_uj) / 1e6);
  } else if (weighted) {
    text += ", reference not measured yet";
  }
  const bool latency = status.objective == objective_name(Objective::latency);
  if (latency && status.workloads > 0 && status.batch_size[index(Kind::infer)] == 0) {
    text += kNobodysLatency;
  }
  if (status.energy_uj > 0) {
    text += number("; at most %.6g J a sample", static_cast<double>(status.energy_uj) / 1e6);
  }
  if (status.latency_ns > 0) {
    text += number("; latency up to %.6g ms", static_cast<double>(status.latency_ns) / 1e6);
  }
  return text;
}

std::string status_text(const wire::StatusAnswer& status) {
  std::string power = status.power_known ? watts(status.power_mw) : "unknown";
  if (status.power_known && status.power_is_estimate) power += " (an estimate)";
  std::string text = "phase         " + status.phase + "\npower         " + power;
  text += "\ncap           " + cap_text(status.cap_mw);
  if (status.cap_mw > 0 && !status.cap_source.empty()) text += " (" + status.cap_source + ")";
  if (!status.heat.empty()) text += "\nheat          " + status.heat;
  text += "\nobjective     " + objective_text(status);
  text += "\nsetting      ";
  if (status.mode.empty()) text += " none: no knob can be set here";
  for (const auto& [knob, value] : status.mode) {
    char pair[96];
    std::snprintf(pair, sizeof pair, " %s=%.10g", knob.c_str(), value);
    text += pair;
  }
  for (const Kind kind : {Kind::train, Kind::infer}) {
    if (status.batch_size[index(kind)] == 0) continue;
    char line[96];
    std::snprintf(line, sizeof line, "\n%-13s batch size %lld",
                  std::string(kind_name(kind)).c_str(),
                  static_cast<long long>(status.batch_size[index(kind)]));
    text += line;
    const std::int64_t minibatch_ns = status.minibatch_ns[index(kind)];
    if (minibatch_ns > 0) {
      text += number(", last minibatch %.2f ms", static_cast<double>(minibatch_ns) / 1e6);
    }
  }
  if (status.arrival_interval_ns > 0) {
    text += "\nrequests     " + number(" %.4g a second are planned for",
                                       1e9 / static_cast<double>(status.arrival_interval_ns));
    text += number("; newest p99 %.1f ms", static_cast<double>(status.latency_p99_ns) / 1e6);
    text += number(", %.0f late", static_cast<double>(status.requests_late));
    text += number(" of %.0f answered", static_cast<double>(status.requests_served));
    text += number(", %.0f wait", static_cast<double>(status.requests_queued));
  }
  if (status.battery.known()) {
    text += "\nbattery       " + describe(status.battery, Duration(status.battery_age_ns));
  }
  if (!status.plan.empty()) text += "\nplan          " + status.plan;
  if (!status.recording.file.empty()) {
    text += "\nrecording     " + recording_state_text(status.recording);
  }
  text += "\nruns          " + status.run;
  text += "\nworkloads     " + std::to_string(status.workloads);
  text += "\nmeasurements  " + std::to_string(status.measurements);
  text += "\ndrifts        " + std::to_string(status.drifts) + " found by " +
          std::to_string(status.repeats) + " repeats of known settings";
  return text;
}

}  // namespace

void add_status(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<StatusOptions>();
  CLI::App* command = app.add_subcommand("status", "Show what a running daemon is doing");
  add_control_option(*command, options->control);
  command->add_flag("--json", options->json, "one JSON object instead of text");
  command->footer("Example: gearshift status --json");
  command->callback([options, &exit_code] {
    exit_code = run_control_request([&] {
      const wire::StatusAnswer status = ControlClient(options->control).status();
      std::printf("%s\n", (options->json ? status_json(status) : status_text(status)).c_str());
    });
  });
}

}  // namespace gearshift
