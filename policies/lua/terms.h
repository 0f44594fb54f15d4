// Tables of named terms, as gp.next and surface:best take them, lists, and whole numbers as places.
#pragma once

#include <cstddef>
#include <initializer_list>

struct lua_State;

namespace gearshift {

// Raises an error where the argument at `index` is neither nil nor a table, or has a field that is
// not one of `names`: a misspelt term would otherwise be none. Names the first such in byte order.
void check_terms(lua_State* lua, int index, const char* function,
                 std::initializer_list<const char*> names);

// The first name in byte order that the table at `index` has and that is none of `names`; null
// where there is none. A string of the table's.
const char* unknown_name(lua_State* lua, int index, std::initializer_list<const char*> names);

// The length of the argument, a list of `what` ("answers"). Raises an error where it is no table,
// or one with names and no positions: an answer by itself would otherwise be a list of none.
std::size_t checked_list(lua_State* lua, int index, const char* function, const char* what);

// What there is at `index` as errors show it: a number, else the name of its type. Valid while that
// stays on the stack.
const char* shown(lua_State* lua, int index);

// The argument as a place in a sequence, as Lua's own tables take their keys: 2.0 is 2, "2" is
// none. 0 where it is no whole number.
long long place_at(lua_State* lua, int index);

}  // namespace gearshift
