#include <algorithm>

#include "boards/board_description.h"
#include "boards/board_texts.h"

namespace gearshift {

std::span<const BoardDescription> built_in_boards() {
  static const std::vector<BoardDescription> boards = [] {
    std::vector<BoardDescription> parsed;
    for (const EmbeddedText& board : board_texts()) {
      parsed.push_back(parse_board(board.text, board.file));
    }
    std::sort(parsed.begin(), parsed.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    return parsed;
  }();
  return boards;
}

const BoardDescription* find_board(std::string_view called,
                                   std::span<const BoardDescription> boards) {
  const auto is_it = [&](const BoardDescription& board) {
    return board.id == called ||
           std::find(board.aliases.begin(), board.aliases.end(), called) != board.aliases.end();
  };
  const auto found = std::find_if(boards.begin(), boards.end(), is_it);
  return found == boards.end() ? nullptr : &*found;
}

bool is_same_board(std::string_view one, std::string_view other) {
  if (one == other) return true;
  const BoardDescription* a = find_board(one, built_in_boards());
  const BoardDescription* b = find_board(other, built_in_boards());
  if (a == nullptr || b == nullptr) return false;
  return a == b || (!a->compatible.empty() && a->compatible == b->compatible);
}

bool select_gpu(BoardDescription& board, const std::string& which) {
  bool found = false;
  for (KnobDescription& knob : board.knobs) {
    if (!knob.gpu.empty()) knob.gpu = which;
    found = found || !knob.gpu.empty();
  }
  if (board.power.gpu.empty()) return found;
  board.power.gpu = which;
  return true;
}

std::map<std::string, WorkloadParameters>::const_iterator BoardDescription::find_workload(
    std::string_view called, Kind kind) const {
  const auto named = [&](std::string_view wanted) {
    return std::find_if(workloads.begin(), workloads.end(), [&](const auto& entry) {
      const auto& [own_name, workload] = entry;
      const std::vector<std::string>& others = workload.aliases;
      return workload.kind == kind && (own_name == wanted || std::find(others.begin(), others.end(),
                                                                       wanted) != others.end());
    });
  };
  const auto found = named(called);
  if (found != workloads.end()) return found;
  return named(std::string(called) + '-' + std::string(kind_name(kind)));
}

}  // namespace gearshift
