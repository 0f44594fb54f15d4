#include "cli/note_text.h"

#include <spdlog/fmt/fmt.h>

#include "cli/goal_limits.h"
#include "cli/units.h"
#include "controller/limit_source.h"

namespace gearshift {
namespace {

// With all the decimals that it has, one at least: what is a little over it does not read as it.
std::string exact_cap_text(std::int64_t cap_mw) {
  if (!is_power(cap_mw)) return cap_text(cap_mw);
  const int decimals = cap_mw % 100 == 0 ? 1 : cap_mw % 10 == 0 ? 2 : 3;
  return fmt::format("{:.{}f} W", static_cast<double>(cap_mw) / 1000.0, decimals);
}

// Where nobody can step down it is told of power that is not known, too.
std::string over_cap_text(const Note& note) {
  if (note.value <= 0) return std::string(note.text);
  return fmt::format("over the cap at {}: {}", watts_upward(note.value), note.text);
}

// Gauges that live are read every few seconds.
std::string age_text(Duration age) {
  constexpr Duration kShownFrom = std::chrono::seconds(10);
  return age < kShownFrom ? "" : fmt::format(" (last read {:.0f} s ago)", seconds(age));
}

}  // namespace

std::string watts(std::int64_t power_mw) {
  if (power_mw > 0 && power_mw < 50) return fmt::format("{} mW", power_mw);
  return fmt::format("{:.1f} W", static_cast<double>(power_mw) / 1000.0);
}

std::string exact_watts(std::int64_t power_mw) {
  return fmt::format("{:g} W", static_cast<double>(power_mw) / 1000.0);
}

std::string cap_text(std::int64_t cap_mw) {
  return cap_mw <= 0               ? "none"
         : cap_mw == kNoPowerMw    ? "0 W"
         : cap_mw == kLowestModeMw ? "the lowest mode's power"
                                   : watts(cap_mw);
}

std::string describe(const KnobSpace& space, const Setting& setting) {
  std::string text = space.describe(setting.mode);
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const std::int32_t batch_size = setting.batch_size[index(kind)];
    if (batch_size == 0) continue;
    if (!text.empty()) text += ' ';
    text += fmt::format("{}_batch={}", kind_name(kind), batch_size);
  }
  const bool both_kinds = setting.batch_size[0] != 0 && setting.batch_size[1] != 0;
  if (both_kinds) text += fmt::format(" run={}", run_name(setting.run));
  return text.empty() ? "the board as it is" : text;
}

std::string describe(const Observation& observation, const Goal& goal) {
  if (observation.outcome == Outcome::over_limit) {
    return fmt::format("over the cap: {}{} of {}", watts_upward(observation.power_mean_mw),
                       observation.power_is_estimate ? " (estimate)" : "",
                       exact_cap_text(observation.limit_mw));
  }
  if (!observation.ok()) return std::string(outcome_name(observation.outcome));
  std::string text = watts(observation.power_mean_mw);
  if (observation.power_is_estimate) text += " (estimate)";
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Cost& cost = observation.cost[index(kind)];
    if (cost.minibatches == 0) continue;
    text +=
        fmt::format(", {} {} a minibatch, {:.2f} ms and {:.3f} J a sample (n={})", kind_name(kind),
                    milliseconds_text(cost.minibatch_mean), observation.sample_s(kind) * 1e3,
                    observation.energy_j(goal, kind), cost.minibatches);
  }
  return text;
}

bool NoteText::warns(NoteType type) {
  switch (type) {
    case NoteType::drift:
    case NoteType::safe:
    case NoteType::late:
    case NoteType::over_cap:
    case NoteType::power_unknown:
    case NoteType::temperature:
    case NoteType::knob_failed:
    case NoteType::outside_writer:
    case NoteType::policy_error:
    case NoteType::unsaved:
    case NoteType::recording_ended:
      return true;
    default:
      return false;
  }
}

std::string describe(const Battery& battery, Duration age) {
  std::string text = fmt::format("{:.2f}", battery.energy_wh.value_or(0));
  if (battery.capacity_wh) text += fmt::format(" of {:.2f}", *battery.capacity_wh);
  text += " Wh" + age_text(age);
  if (battery.voltage_v) text += fmt::format(", {:.2f} V", *battery.voltage_v);
  if (battery.current_a) {
    text += battery.charging() ? fmt::format(", charged with {:.2f} A", -*battery.current_a)
                               : fmt::format(", {:.2f} A out of it", *battery.current_a);
  }
  return text + (battery.estimate ? " (an estimate)" : "");
}

std::string NoteText::line(const Note& note) {
  const std::string setting = note.setting != nullptr ? describe(space_, *note.setting) : "";
  switch (note.type) {
    case NoteType::attached:
      names_[note.workload] = note.text;
      return fmt::format(
          "{} attached{}", note.text,
          note.value != 0
              ? ""
              : " (observed only: another of its kind is managed, or its key has not the right)");
    case NoteType::detached:
      return fmt::format("{} left: {}", names_[note.workload], note.text);
    case NoteType::baseload:
      return fmt::format("idle baseload {}", watts(note.value));
    case NoteType::goal:
      return note.value > 0 ? fmt::format("cap {} (set by {})", cap_text(note.value), note.text)
                            : std::string("no power cap");
    case NoteType::objective:
      return fmt::format("objective {}", note.text);
    case NoteType::reference:
      return note.setting != nullptr ? fmt::format("reference {}: {}", setting, note.text)
                                     : fmt::format("reference {}", note.text);
    case NoteType::setting:
    case NoteType::applied:
      return {};
    case NoteType::observation:
      return fmt::format("measured {}: {}", setting, describe(*note.observation, goal_));
    case NoteType::hold:
      return fmt::format("holding {}", setting);
    case NoteType::drift:
      return fmt::format("the world has changed, forgetting what was measured: {}", note.text);
    case NoteType::safe:
      return fmt::format("{}; holding {}", note.text, setting);
    case NoteType::arrivals:
      return fmt::format("planning for {}", note.text);
    case NoteType::late:
      return fmt::format("requests are late, or nearly: {}", note.text);
    case NoteType::over_cap:
      return over_cap_text(note);
    case NoteType::power_unknown:
      return fmt::format("power unknown, going to the safe setting: {}", note.text);
    case NoteType::policy_log:
      return fmt::format("policy: {}", note.text);
    case NoteType::policy_error:
      return fmt::format("the policy failed: {}", note.text);
    case NoteType::policy_reload:
      return fmt::format("policy script: {}", note.text);
    case NoteType::checkpoint:
    case NoteType::unsaved:
      return fmt::format("{}: {}", names_[note.workload], note.text);
    case NoteType::recording_ended:
      return fmt::format("the recording ends here, the run goes on: {}", note.text);
    case NoteType::search_ended:
    case NoteType::rationed:
    case NoteType::temperature:
    case NoteType::knob_failed:
    case NoteType::outside_writer:
      return std::string(note.text);
    case NoteType::gap:
      return fmt::format("the loop stood still for {:.1f} s: {}",
                         static_cast<double>(note.value) / 1e9, note.text);
    case NoteType::plan:
      return fmt::format("battery {}", note.text);
    case NoteType::stop:
      return fmt::format("stopping: {}", note.text);
  }
  return {};
}

std::string status_line(const KnobSpace& space, const Status& status) {
  std::string text = fmt::format("{:<9} ", phase_name(status.phase));
  if (status.setting.mode.count > 0) text += describe(space, status.setting);
  text += status.power_known ? fmt::format(" | {}", watts(status.power_mw)) : " | power unknown";
  if (status.power_is_estimate) text += " (estimate)";
  if (status.cap_mw > 0) text += fmt::format(" of {}", cap_text(status.cap_mw));
  if (status.battery.known()) {
    text += fmt::format(" | battery {:.2f} Wh", *status.battery.energy_wh) +
            age_text(status.time - status.battery.taken);
    if (status.battery.voltage_v) text += fmt::format(" {:.2f} V", *status.battery.voltage_v);
  }
  for (const Duration minibatch : status.minibatch) {
    if (minibatch > Duration::zero()) text += fmt::format(" | {}", milliseconds_text(minibatch));
  }
  if (status.requests.served > 0) {
    text += fmt::format(" | p99 {}", milliseconds_text(status.requests.latency_p99));
  }
  text += fmt::format(" | {} measured", status.measurements);
  return text;
}

}  // namespace gearshift
