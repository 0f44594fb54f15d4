#include "trace/recording_names.h"

namespace gearshift {
namespace {

// More values than there are.
constexpr std::uint8_t kMostNotes = 64;

}  // namespace

std::optional<NoteType> note_from_word(std::string_view word, std::string_view text) {
  if (word == note_name(NoteType::over_cap) && text.starts_with("the search waits: ")) {
    return NoteType::rationed;
  }
  for (std::uint8_t i = 0; i < kMostNotes; ++i) {
    const auto type = static_cast<NoteType>(i);
    if (note_name(type) == "unknown") break;
    if (note_name(type) == word) return type;
  }
  return std::nullopt;
}

}  // namespace gearshift
