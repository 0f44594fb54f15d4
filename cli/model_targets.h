// The targets file of `gearshift model check`: published numbers, one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boards/model_check.h"

namespace gearshift {

// Reads the columns that docs/board-model.md lists, in any order. `source` names the text in
// errors. Throws CsvError.
std::vector<ModelTarget> parse_targets(std::string_view text, std::string_view source);

}  // namespace gearshift
