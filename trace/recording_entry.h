// What goes through the queue from the loop to the recorder's thread: plain values and their text.
#pragma once

#include <cstdint>
#include <type_traits>

#include "trace/recording.h"

namespace gearshift {

enum class EntryType : std::uint8_t {
  tick,         // TickEntry
  reading,      // Reading
  event,        // EventEntry, text
  minibatch,    // MinibatchEntry
  requests,     // RequestsEntry
  workload,     // WorkloadEntry
  knob_call,    // KnobCall, text
  explanation,  // Explanation, text
  limit,        // LimitAnswer
  script,       // ScriptEntry, text
  script_stop,  // ScriptStop
  command,      // SentCommand
  note,         // NoteEntry, text
};

struct EntryHeader {
  EntryType type = EntryType::tick;
  std::uint32_t size = 0;  // bytes that follow: the value, then its text
};

struct TickEntry {
  std::int64_t number = 0;
  Time now{};
};
struct EventEntry {
  std::uint32_t position = 0;
  EventType type = EventType::stop;
  WorkloadHandle handle = 0;
  std::int32_t batch_size = 0;
  std::uint32_t set_sequence = 0;
  std::int32_t signal = 0;
  std::int64_t power_mw = 0;
};
struct MinibatchEntry {
  std::uint32_t position = 0;
  Minibatch minibatch;
};
struct RequestsEntry {
  std::uint32_t position = 0;
  RequestReport requests;
};
struct WorkloadEntry {
  std::uint32_t position = 0;
  Workload workload;
};
struct ScriptEntry {};
struct NoteEntry {
  NoteType type = NoteType::stop;
  Time time{};
  WorkloadHandle workload = 0;
  std::int64_t value = 0;
  bool has_setting = false;
  bool has_observation = false;
  Setting setting;
  Observation observation;
};

static_assert(std::is_trivially_copyable_v<NoteEntry> && std::is_trivially_copyable_v<KnobCall> &&
              std::is_trivially_copyable_v<LimitAnswer> &&
              std::is_trivially_copyable_v<SentCommand> &&
              std::is_trivially_copyable_v<WorkloadEntry> &&
              std::is_trivially_copyable_v<RequestsEntry>);

}  // namespace gearshift
