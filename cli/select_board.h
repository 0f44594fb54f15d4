// Turns what --board says into a board description.
#pragma once

#include <string>

#include "boards/board_description.h"
#include "boards/sysroot.h"

namespace gearshift {

// `name` is "auto" (detect), the id of a built-in board, or the path of a board file. Throws
// std::runtime_error that lists the known ids, or BoardFileError.
BoardDescription select_board(const std::string& name, const Sysroot& root);

}  // namespace gearshift
