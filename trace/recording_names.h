// The words a recording uses for enumerated values, and the way back from a word.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "trace/recording.h"

namespace gearshift {

// The words of E in the order of its values.
template <typename E>
struct Words;

template <>
struct Words<EventType> {
  static constexpr std::array<std::string_view, 12> words = {
      "attached", "detached", "minibatch", "requests", "applied",        "refused",
      "saved",    "unsaved",  "cap",       "goal",     "script_changed", "stop"};
};
template <>
struct Words<Quantity> {
  static constexpr std::array<std::string_view, 7> words = {
      "power",           "rail_power",     "temperature", "battery_energy", "battery_capacity",
      "battery_voltage", "battery_current"};
};
template <>
struct Words<ReadingState> {
  static constexpr std::array<std::string_view, 4> words = {"ok", "missing", "absurd", "off"};
};
template <>
struct Words<Unit> {
  static constexpr std::array<std::string_view, 4> words = {"count", "khz", "mw", "percent"};
};
template <>
struct Words<KnobClass> {
  static constexpr std::array<std::string_view, 4> words = {"clock", "power_limit", "memory",
                                                            "hotplug"};
};
template <>
struct Words<KnobAction> {
  static constexpr std::array<std::string_view, 4> words = {"read", "write", "manage", "restore"};
};
template <>
struct Words<KnobOutcome> {
  static constexpr std::array<std::string_view, 4> words = {"done", "more", "failed", "away"};
};
template <>
struct Words<Kind> {
  static constexpr std::array<std::string_view, 2> words = {"train", "infer"};
};
template <>
struct Words<Run> {
  static constexpr std::array<std::string_view, 3> words = {"train", "infer", "both"};
};
template <>
struct Words<Objective> {
  static constexpr std::array<std::string_view, 6> words = {"time",     "energy", "latency",
                                                            "weighted", "target", "throughput"};
};

template <typename E>
constexpr std::string_view word_of(E value) {
  return Words<E>::words[static_cast<std::size_t>(value)];
}

template <typename E>
constexpr std::optional<E> from_word(std::string_view word) {
  for (std::size_t i = 0; i < Words<E>::words.size(); ++i) {
    if (Words<E>::words[i] == word) return static_cast<E>(i);
  }
  return std::nullopt;
}

// In the place of what runs, where a workload was asked to save its work.
inline constexpr std::string_view kCheckpointWord = "checkpoint";

// The controller names these itself. `text` is the note's: a search that waits was told as
// over_cap before it had a note of its own.
std::optional<NoteType> note_from_word(std::string_view word, std::string_view text);

}  // namespace gearshift
