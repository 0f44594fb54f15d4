// The library a script sees: an allow list, with every function that could run long, swallow an
// error, draw unseeded numbers or show an address left out or made safe.
#pragma once

struct lua_State;

namespace gearshift {

// Pushes a new table with the library's globals and gives strings their methods. What is left out
// and why stands in docs/policies.md. May raise a Lua error.
void push_library(lua_State* lua);

}  // namespace gearshift
