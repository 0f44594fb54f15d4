// How a recording ended, in words.
#pragma once

#include <optional>
#include <string>

namespace gearshift {

// Of what RecordingReader::end() says. A recording whose process was killed has no end; what is
// there is whole ticks.
std::string recording_end_text(const std::optional<std::string>& end);
bool is_complete(const std::optional<std::string>& end);

}  // namespace gearshift
