// Text files that a command is given, read whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace gearshift {

inline constexpr std::size_t kMostTextBytes = std::size_t{16} << 20;

// The bytes of the file at `path`; nullopt where not all of them can be read, and errno says why:
// EISDIR of a folder, EFBIG of more than kMostTextBytes, EIO of a worn disk. Half a file is none: a
// config that ends early would lack its cap.
std::optional<std::string> read_text_file(const std::string& path);

}  // namespace gearshift
