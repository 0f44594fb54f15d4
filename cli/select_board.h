// Turns what --board says into a board description.
#pragma once

#include <string>

#include "boards/board_description.h"
#include "boards/sysroot.h"

namespace gearshift {

// `name` is "auto" (detect), the id or an alias of a built-in board, or the path of a board file.
// `gpu` is what --gpu says; empty: the board file's own. Throws std::invalid_argument that lists
// the known ids, says that the board has no GPU to choose, or what is wrong with the file.
BoardDescription select_board(const std::string& name, const Sysroot& root,
                              const std::string& gpu = "");

// What --sysroot says. Throws std::invalid_argument where it is no folder.
const std::string& existing_sysroot(const std::string& folder);

}  // namespace gearshift
