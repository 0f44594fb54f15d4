// A text file of the source tree that is compiled in, so that one program is all a board needs.
#pragma once

#include <span>
#include <string_view>

namespace gearshift {

struct EmbeddedText {
  std::string_view file;  // from the root of the source tree: "boards/host.toml"
  std::string_view text;
};

}  // namespace gearshift
