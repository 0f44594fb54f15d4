// Turns what --board says into a board description.
#pragma once

#include <string>

#include "boards/board_description.h"
#include "boards/sysroot.h"

namespace gearshift {

// `name` is "auto" (detect), the id of a built-in board, or the path of a board file. `gpu` is what
// --gpu says; empty: the board file's own. Throws std::runtime_error that lists the known ids or
// says that the board has no GPU to choose, or BoardFileError.
BoardDescription select_board(const std::string& name, const Sysroot& root,
                              const std::string& gpu = "");

}  // namespace gearshift
