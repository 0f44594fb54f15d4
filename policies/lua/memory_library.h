// What a script asks of a long memory: what to look at first, and what is known already.
#pragma once

struct lua_State;

namespace gearshift {

// Adds `recall` and `known` to the table on top of the stack. May raise a Lua error.
void add_memory(lua_State* lua);

}  // namespace gearshift
