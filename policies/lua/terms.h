// Tables of named terms, as gp.next and surface:best take them, and whole numbers as places.
#pragma once

#include <initializer_list>

struct lua_State;

namespace gearshift {

// Raises an error where the argument at `index` is neither nil nor a table, or has a field that is
// not one of `names`: a misspelt term would otherwise be none. Names the first such in byte order.
void check_terms(lua_State* lua, int index, const char* function,
                 std::initializer_list<const char*> names);

// The argument as a place in a sequence, as Lua's own tables take their keys: 2.0 is 2, "2" is
// none. 0 where it is no whole number.
long long place_at(lua_State* lua, int index);

}  // namespace gearshift
