// The part of a script's library that is written in Lua, so that the instruction budget counts it.
#pragma once

struct lua_State;

namespace gearshift {

// Expects the library table and above it the raw `next`, which is popped; adds pairs and
// table.insert, table.remove and table.sort. May raise a Lua error.
void add_ordered_library(lua_State* lua);

}  // namespace gearshift
