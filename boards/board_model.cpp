#include "boards/board_model.h"

#include <algorithm>

namespace gearshift {

bool BoardModel::is_called(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<BoardModel> board_model(const BoardDescription* board) {
  if (board == nullptr || !board->model) return std::nullopt;
  BoardModel model;
  model.names = board->aliases;
  model.names.insert(model.names.begin(), board->id);
  for (const Kind kind : {Kind::train, Kind::infer}) {
    model.parameters[index(kind)] = board->parameters(kind);
  }
  const KnobSpace space = board->knob_space();
  model.highest = model_mode(space, space.highest(), {});
  return model;
}

std::optional<BoardModel> built_in_board_model(std::string_view called) {
  return board_model(find_board(called, built_in_boards()));
}

}  // namespace gearshift
