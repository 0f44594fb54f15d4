#include <algorithm>

#include "boards/board_description.h"
#include "boards/board_texts.h"

namespace gearshift {

std::span<const BoardDescription> built_in_boards() {
  static const std::vector<BoardDescription> boards = [] {
    std::vector<BoardDescription> parsed;
    for (const BoardText& text : board_texts()) {
      parsed.push_back(parse_board(text.toml, text.file));
    }
    std::sort(parsed.begin(), parsed.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    return parsed;
  }();
  return boards;
}

}  // namespace gearshift
