// The fields of an answer of measure that a script hands back, each checked: one that is misspelt
// or of another type would else say nothing, in silence.
#pragma once

#include <optional>

#include "controller/observation.h"

struct lua_State;

namespace gearshift {

// Numbers of the table at `index`, from 0 to infinity (not known). Raise a Lua error, which begins
// with `what`, where there is anything else; the first gives NaN where there is nothing.
double optional_number(lua_State* lua, int index, const char* what, const char* name);
double needed_number(lua_State* lua, int index, const char* what, const char* name);

// A field that is true or false; false where there is nothing.
bool optional_flag(lua_State* lua, int index, const char* what, const char* name);

// `reason`; nullopt where there is none. Raises an error where measure never gives such a one.
std::optional<Outcome> answer_reason(lua_State* lua, int index, const char* what);

}  // namespace gearshift
