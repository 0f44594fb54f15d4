// Gives scripts the pure functions of policies/numerics, whose work is bounded by their input.
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table `numerics` to the table on top of the stack. May raise a Lua error.
void add_numerics(lua_State* lua);

}  // namespace gearshift
