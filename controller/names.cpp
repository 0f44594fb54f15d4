// The words that logs, JSON and status use for phases and notes.
#include "controller/recorder.h"
#include "controller/status.h"

namespace gearshift {

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::waiting:
      return "waiting";
    case Phase::applying:
      return "applying";
    case Phase::measuring:
      return "measuring";
    case Phase::holding:
      return "holding";
    case Phase::safe:
      return "safe";
    case Phase::paused:
      return "paused";
    case Phase::saving:
      return "saving";
    case Phase::rationed:
      return "rationed";
    case Phase::resting:
      return "resting";
  }
  return "unknown";
}

std::string_view note_name(NoteType type) {
  static constexpr std::string_view kNames[] = {
      "attached",        "detached",     "baseload",      "goal",        "objective",
      "reference",       "setting",      "applied",       "observation", "hold",
      "search_ended",    "drift",        "safe",          "arrivals",    "late",
      "over_cap",        "rationed",     "power_unknown", "knob_failed", "outside_writer",
      "policy_log",      "policy_error", "policy_reload", "checkpoint",  "unsaved",
      "recording_ended", "temperature",  "gap",           "plan",        "stop"};
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace gearshift
