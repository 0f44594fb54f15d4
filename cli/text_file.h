// Text files that a command is given, read whole.
#pragma once

#include <optional>
#include <string>

namespace gearshift {

// The bytes of the file at `path`; nullopt where they cannot be read. A folder is no file: opened
// as one, it would read as an empty one.
std::optional<std::string> read_text_file(const std::string& path);

}  // namespace gearshift
