// What a script asks of a long memory: what to look at first, and what is known already.
#pragma once

#include <cstdint>

struct lua_State;

namespace gearshift {

struct ScriptState;
struct Setting;

// Whether `measure` answers the setting from memory.
bool is_known(ScriptState& state, const Setting& setting) noexcept;
// Instructions: what asking so takes, next.
std::int64_t charge_to_know(const ScriptState& state);

// Adds `recall` and `known` to the table on top of the stack. May raise a Lua error.
void add_memory(lua_State* lua);

}  // namespace gearshift
