// The `pareto` module: fronts of a script's own points.
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table `pareto` to the table on top of the stack. May raise a Lua error.
void add_pareto(lua_State* lua);

}  // namespace gearshift
