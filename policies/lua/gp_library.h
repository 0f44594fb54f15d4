// The Lua table gp: Bayesian optimisation over every setting, for scripts that decide when to ask.
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table to the one on top of the stack.
void add_gp(lua_State* lua);

}  // namespace gearshift
