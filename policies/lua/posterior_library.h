// Gives scripts beliefs about means that values sharpen (policies/numerics/normal_inverse_gamma.h).
#pragma once

struct lua_State;

namespace gearshift {

// Adds the table `posterior` to the table on top of the stack. May raise a Lua error.
void add_posterior(lua_State* lua);

}  // namespace gearshift
