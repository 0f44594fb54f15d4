// Turns what --workload says into what the model of a board knows of it.
#pragma once

#include <map>
#include <string>

#include "boards/board_description.h"

namespace gearshift {

// The workload `name` of the kind, by its name in the board file or an alias, with the name that
// the file has for it. `flag` is where `name` was said. Throws std::invalid_argument that lists
// those of the kind. The board owns it.
const std::map<std::string, WorkloadParameters>::value_type& require_workload(
    const BoardDescription& board, const std::string& name, Kind kind, const std::string& flag);

}  // namespace gearshift
