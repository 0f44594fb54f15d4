// The call stack of a failed script as text.
#pragma once

#include <string>
#include <string_view>

struct lua_State;

namespace gearshift {

// "binary_search.lua:12: message" and below it one line a call, innermost first, at most 20.
// `coroutine` must have failed, or `fallback_line` (0: unknown) says where it was when `message`
// was made. Raises no Lua error, so it needs no protected call.
std::string traceback(lua_State* coroutine, std::string_view name, std::string_view message,
                      int fallback_line);

}  // namespace gearshift
