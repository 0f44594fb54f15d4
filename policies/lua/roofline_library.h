// The `roofline` module: fits the board's cost model to a script's measurements.
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table `roofline` to the table on top of the stack. May raise a Lua error.
void add_roofline(lua_State* lua);

}  // namespace gearshift
