// The goal as scripts see it.
#pragma once

#include "controller/goal.h"

struct lua_State;

namespace gearshift {

// Pushes the table `goal` of policies/api.lua. May raise a Lua error.
void push_goal(lua_State* lua, const Goal& goal);

}  // namespace gearshift
