// What a recording holds: how a run was set up, and all that each tick consumed and decided.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "controller/board.h"
#include "controller/controller.h"
#include "controller/limit_source.h"
#include "controller/profile.h"
#include "controller/recorder.h"
#include "controller/world.h"

namespace gearshift {

// A file that is no recording, or one that cannot be used: what() has file, place, value and the
// way out.
struct RecordingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NamedText {
  std::string name;  // the file it came from
  std::string text;
};

// Everything that was fixed before the first tick.
struct RecordingHeader {
  std::string gearshift_version;
  std::string command;               // as it was typed
  std::int64_t started_unix_ms = 0;  // wall time, for people; nothing is decided from it
  NamedText board;                   // the board file; empty where the board had none
  KnobSpace knobs;                   // as they were opened: absent knobs are not among them
  BoardTraits traits;                // its name is the board's id
  ControllerOptions options;         // with the goal, the seed and the tables measured before
  NamedText policy;                  // the script
  // A reader's own copy of what options.prior pointed to; there it is empty then.
  std::vector<Profile> priors;
  std::vector<std::string> limits;  // names of the limit sources, in the order they were asked
};

// What the board, the limits and the policy answered.

enum class KnobAction : std::uint8_t { read, write, manage, restore };
enum class KnobOutcome : std::uint8_t { done, more, failed, away };

// One call of the Actuator, and what came of it.
struct KnobCall {
  std::uint32_t call = 0;  // counted from 0 in each tick, unrecorded ones included
  KnobAction action = KnobAction::read;
  KnobOutcome outcome = KnobOutcome::done;
  bool known = true;          // read: the board could tell the value
  Kind kind = Kind::train;    // manage
  std::uint32_t knob = 0;     // read, write
  std::int64_t value = 0;     // read: what is in force; write: what was wanted; in the knob's unit
  std::int32_t pid = 0;       // manage
  std::optional<Time> wrote;  // write, made or failed: see Actuator
};

// Why a reading was missing.
struct Explanation {
  Quantity quantity = Quantity::power;
  std::uint8_t channel = 0;
};

// What a limit source said; recorded when it says something else than before.
struct LimitAnswer {
  std::uint32_t source = 0;  // index into RecordingHeader::limits
  Limit limit;
};

// The policy's script had thought too long, and was ended.
struct ScriptStop {
  std::int64_t look = 0;  // how often the scripts of the run had been looked at, this look included
};

// What a workload was asked for.
struct SentCommand {
  WorkloadHandle workload = 0;
  WorkloadCommand command;
};

template <typename Value>
struct WithText {
  Value value;
  std::string text;
};

// A note that owns what it refers to.
struct RecordedNote {
  NoteType type = NoteType::stop;
  Time time{};
  WorkloadHandle workload = 0;
  std::int64_t value = 0;
  std::optional<Setting> setting;
  std::optional<Observation> observation;
  std::string text;
};

// One tick. The calls, explanations and limits answered the loop; commands and notes are its
// decisions.
struct RecordedTick {
  std::int64_t number = 0;  // from 0
  Time now{};
  std::vector<Event> events;
  std::vector<Reading> readings;
  std::vector<WithText<KnobCall>> knob_calls;
  std::vector<WithText<Explanation>> explanations;
  std::vector<LimitAnswer> limits;
  std::vector<std::string> scripts;
  std::vector<ScriptStop> script_stops;
  std::vector<SentCommand> commands;
  std::vector<RecordedNote> notes;
};

}  // namespace gearshift
