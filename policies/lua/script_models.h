// What a script's predictions are made with, lent by the policy's owner.
#pragma once

namespace gearshift {

struct BoardModel;
class ModeTransfer;

struct ScriptModels {
  const BoardModel* board = nullptr;       // null where no model of the board is known
  const ModeTransfer* transfer = nullptr;  // null where there are no networks
};

}  // namespace gearshift
