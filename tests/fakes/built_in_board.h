// The boards that gearshift ships, by any name that they go by.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "boards/board_description.h"

namespace gearshift {

inline const BoardDescription& built_in_board(std::string_view called) {
  const BoardDescription* const board = find_board(called, built_in_boards());
  if (board == nullptr) throw std::runtime_error("no board " + std::string(called));
  return *board;
}

inline const BoardDescription& agx_orin() { return built_in_board("jetson-agx-orin"); }

}  // namespace gearshift
