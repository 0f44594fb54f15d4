// The text of every boards/*.toml, compiled in by boards/CMakeLists.txt.
#pragma once

#include <span>
#include <string_view>

namespace gearshift {

struct BoardText {
  std::string_view file;  // "boards/host.toml"
  std::string_view toml;
};

// In the order of the file names.
std::span<const BoardText> board_texts();

}  // namespace gearshift
