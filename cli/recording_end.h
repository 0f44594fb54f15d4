// How a recording ended, in words.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "controller/recording_state.h"

namespace gearshift {

// Of what RecordingReader::end() says. A recording whose process was killed has no end; what is
// there is whole ticks.
std::string recording_end_text(const std::optional<std::string>& end);
bool is_complete(const std::optional<std::string>& end);

// Of a run that goes on: "FILE, 12.3 MB", with when and why it ended where it has.
std::string recording_state_text(const RecordingState& state);
// The same as an object of `gearshift status --json`.
nlohmann::ordered_json recording_state_json(const RecordingState& state);

}  // namespace gearshift
