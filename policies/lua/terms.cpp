#include "policies/lua/terms.h"

#include <lua.hpp>
#include <string_view>

namespace gearshift {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
  for (const char* one : names) {
    if (name == one) return true;
  }
  return false;
}

}  // namespace

// What is on the stack may be collected by an error, so the name that is kept is a string of the
// table's.
void check_terms(lua_State* lua, int index, const char* function,
                 std::initializer_list<const char*> names) {
  luaL_checkstack(lua, 8, function);
  if (lua_isnoneornil(lua, index)) return;
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected a table of terms, got %s", function, luaL_typename(lua, index));
  }
  const int table = lua_absindex(lua, index);
  std::string_view unknown;
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) != LUA_TSTRING) {
      luaL_error(lua, "%s: terms have names, got a key that is a %s", function,
                 luaL_typename(lua, -1));
    }
    const std::string_view name = lua_tostring(lua, -1);
    if (!is_one_of(name, names) && (unknown.data() == nullptr || name < unknown)) unknown = name;
  }
  if (unknown.data() == nullptr) return;
  luaL_Buffer known;
  luaL_buffinit(lua, &known);
  for (const char* const* name = names.begin(); name != names.end(); ++name) {
    if (name != names.begin()) luaL_addstring(&known, ", ");
    luaL_addstring(&known, *name);
  }
  luaL_pushresult(&known);
  luaL_error(lua, "%s: unknown term '%s': the terms are %s", function, unknown.data(),
             lua_tostring(lua, -1));
}

long long place_at(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TNUMBER) return 0;
  int is_whole = 0;
  const lua_Integer place = lua_tointegerx(lua, index, &is_whole);
  return is_whole != 0 ? place : 0;
}

}  // namespace gearshift
