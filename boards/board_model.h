// What a policy may know of a board's cost model: the board's own parameters, no workload's.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boards/board_description.h"
#include "boards/cost_model.h"

namespace gearshift {

struct BoardModel {
  std::vector<std::string>
      names;  // the board's id and aliases, as tables of measurements write them
  std::array<DeviceParameters, kKinds> parameters;  // by kind
  ModelMode highest;                                // stands for knobs that a table or board lacks

  bool is_called(std::string_view name) const;
};

// Nullopt where there is no board, or it has no model.
std::optional<BoardModel> board_model(const BoardDescription* board);

// Of the built-in board of that id or alias.
std::optional<BoardModel> built_in_board_model(std::string_view called);

}  // namespace gearshift
