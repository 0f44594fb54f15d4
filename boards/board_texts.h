// The text of every boards/*.toml, compiled in by embed_texts() of CMakeLists.txt.
#pragma once

#include "boards/embedded_text.h"

namespace gearshift {

// In the order of the file names.
std::span<const EmbeddedText> board_texts();

}  // namespace gearshift
