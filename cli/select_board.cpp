#include "cli/select_board.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <stdexcept>

#include "cli/text_file.h"

namespace gearshift {

namespace {

BoardDescription find_board_by_name(const std::string& name, const Sysroot& root) {
  if (name == "auto") return *detect_board(root, built_in_boards()).board;
  if (const BoardDescription* board = find_board(name, built_in_boards())) return *board;
  std::string known;
  for (const BoardDescription& board : built_in_boards()) {
    known += (known.empty() ? "" : ", ") + board.id;
  }
  if (!std::filesystem::exists(name)) {
    throw std::invalid_argument("--board '" + name + "': neither a board file nor one of auto, " +
                                known);
  }
  const std::optional<std::string> text = read_text_file(name);
  if (!text) {
    throw std::invalid_argument("--board '" + name + "': cannot be read: " + std::strerror(errno) +
                                "; give a board file or one of auto, " + known);
  }
  try {
    return parse_board(*text, name);
  } catch (const std::runtime_error& error) {  // as a flag that cannot be used
    throw std::invalid_argument(error.what());
  }
}

}  // namespace

const std::string& existing_sysroot(const std::string& folder) {
  if (std::filesystem::is_directory(folder)) return folder;
  throw std::invalid_argument("--sysroot '" + folder +
                              "' is no folder; it is / or where a virtual board is mounted");
}

BoardDescription select_board(const std::string& name, const Sysroot& root,
                              const std::string& gpu) {
  BoardDescription board = find_board_by_name(name, root);
  if (!gpu.empty() && !select_gpu(board, gpu)) {
    throw std::invalid_argument("--gpu '" + gpu + "': board " + board.id +
                                " has no knob or sensor of NVML; --board nvidia-gpu has");
  }
  return board;
}

}  // namespace gearshift
