// Where the loop writes what it consumed and what it decided.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "controller/clock.h"
#include "controller/drift.h"
#include "controller/event.h"
#include "controller/observation.h"
#include "controller/status.h"

namespace gearshift {

enum class NoteType : std::uint8_t {
  attached,      // workload, text = its name
  detached,      // workload, text = why
  baseload,      // value = idle power, mW
  goal,          // value = cap in mW, text = the limit source that binds
  objective,     // text = what is minimised from now on: the operator has changed it
  reference,     // setting, text = its cost: what a weighted goal is measured against
  setting,       // setting: a change begins; value = what it is for (SetFor)
  applied,       // setting is in force; value = nanoseconds it took
  observation,   // observation: a measurement ended
  hold,          // setting: the policy's choice
  search_ended,  // text: the measurement limit; the best setting so far is held
  drift,         // setting, alarm, text = its text: what was measured is forgotten
  safe,          // setting, text = why the safe setting is held
  arrivals,      // text: the rate at which requests arrive, where it has changed
  // setting, text: requests were late, or nearly, and what was done; value = the rate at which the
  // setting is known to be late from now on, in millionths of a request a second; 0: at none
  late,
  over_cap,         // setting, value = windowed power in mW: the guard stepped in
  rationed,         // setting in force, value = windowed power in mW, text = why the search waits
  power_unknown,    // text: which reading is missing, stale or absurd
  knob_failed,      // text: "gpu_mhz: wrote 1300.5, still 1109.25"
  outside_writer,   // text: "gpu_mhz: another program wrote 816, we had set 612; set again"
  policy_log,       // text: a line from log()
  policy_error,     // text: file, line, traceback
  policy_reload,    // text: "reloaded", or why the old one stays
  checkpoint,       // workload, text: it was asked to save its work, or has, and how long it took
  unsaved,          // workload, text: why it did not save its work
  recording_ended,  // text: why the recording ends before the run; the run goes on
  temperature,      // text: zones that cannot be read, or are back; value = how many cannot
  gap,              // value = nanoseconds that the loop did not come round, text = why it may be
  plan,             // text: what a limit plans; told, as temperature, by who made the limit
  stop,             // text: who asked
};
std::string_view note_name(NoteType type);
// Of a request a second, in the value of a `late` note.
inline constexpr double kLateParts = 1e6;

// In the value of a `setting` note.
enum class SetFor : std::int64_t {
  untold,    // in recordings that were made before it was told
  policy,    // who asked for it: to measure it, or to hold it
  limits,    // it stands in for what the policy asked for, or for the policy itself
  requests,  // the same, and serves requests alone, which were late
};

// One decision or incident. References are valid during the call only.
struct Note {
  NoteType type = NoteType::stop;
  Time time{};
  WorkloadHandle workload = 0;
  std::int64_t value = 0;
  const Setting* setting = nullptr;
  const Observation* observation = nullptr;
  const DriftAlarm* alarm = nullptr;
  std::string_view text = {};
};

// The inputs of one tick, as consumed: all that a replay needs beside script, prior and seed.
struct TickInputs {
  Time now{};
  std::span<const Event> events;
  std::span<const Reading> readings;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Called once a tick before anything is decided. Must not block or allocate in a steady tick.
  virtual void tick(const TickInputs& inputs) = 0;
  virtual void note(const Note& note) = 0;
  // Called at the end of each tick.
  virtual void status(const Status& status) = 0;
};

}  // namespace gearshift
