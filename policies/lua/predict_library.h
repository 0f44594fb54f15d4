// The `predict` module: PowerTrain's networks for scripts.
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table `predict` to the table on top of the stack. May raise a Lua error.
void add_predict(lua_State* lua);

}  // namespace gearshift
