// Turns what the loop handed over into rows of a recording's tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "trace/database.h"
#include "trace/recording_entry.h"

namespace gearshift {

class RecordingRows {
 public:
  // `database` has the tables of recording_schema.h and is borrowed, as are the header's knobs.
  RecordingRows(Database& database, const KnobSpace& knobs);

  // Throws DatabaseError.
  void write(EntryType type, std::span<const std::byte> bytes);

 private:
  void write(const TickEntry& entry);
  void write(const Reading& reading);
  void write(const EventEntry& entry, std::string_view text);
  void write(const MinibatchEntry& entry);
  void write(const RequestsEntry& entry);
  void write(const WorkloadEntry& entry);
  void write(const KnobCall& call, std::string_view text);
  void write(const Explanation& explanation, std::string_view text);
  void write(const LimitAnswer& answer);
  void write(const ScriptStop& stop);
  void write(const SentCommand& sent);
  void write(const NoteEntry& entry, std::string_view text);
  std::int64_t setting_row(const Setting& setting);
  std::int64_t observation_row(const Observation& observation);

  const KnobSpace& knobs_;
  Statement tick_row_;
  Statement reading_;
  Statement event_;
  Statement minibatch_;
  Statement requests_;
  Statement workload_;
  Statement knob_call_;
  Statement explanation_;
  Statement limit_;
  Statement script_;
  Statement script_stop_;
  Statement command_;
  Statement setting_;
  Statement observation_;
  Statement note_;
  std::int64_t tick_ = 0;
  std::int64_t observations_ = 0;
  struct SettingHash {
    std::size_t operator()(const Setting& setting) const { return hash(setting); }
  };
  std::unordered_map<Setting, std::int64_t, SettingHash> settings_;  // lookup only, never iterated
};

}  // namespace gearshift
