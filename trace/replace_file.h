// Replaces a file as a whole, so that neither a crash nor a full disk costs what it held.
#pragma once

#include <filesystem>
#include <string_view>

namespace gearshift {

// Writes `text` beside `path` (PATH.new), and renames it once it is on disk; returns when the name
// is on disk too. A reader, and whoever comes after a crash, finds the old file or the new one.
// Throws std::runtime_error with the path and the reason; the old file is then as it was, unless
// the folder alone could not be synced.
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace gearshift
