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
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) == LUA_TSTRING) continue;
    luaL_error(lua, "%s: terms have names, got a key that is a %s", function,
               luaL_typename(lua, -1));
  }
  const char* unknown = unknown_name(lua, table, names);
  if (unknown == nullptr) return;
  luaL_Buffer known;
  luaL_buffinit(lua, &known);
  for (const char* const* name = names.begin(); name != names.end(); ++name) {
    if (name != names.begin()) luaL_addstring(&known, ", ");
    luaL_addstring(&known, *name);
  }
  luaL_pushresult(&known);
  luaL_error(lua, "%s: unknown term '%s': the terms are %s", function, unknown,
             lua_tostring(lua, -1));
}

const char* unknown_name(lua_State* lua, int index, std::initializer_list<const char*> names) {
  luaL_checkstack(lua, 4, "a table");
  const int table = lua_absindex(lua, index);
  const char* unknown = nullptr;
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    lua_pop(lua, 1);
    if (lua_type(lua, -1) != LUA_TSTRING) continue;
    const char* name = lua_tostring(lua, -1);
    const bool earlier = unknown == nullptr || std::string_view(name) < unknown;
    if (earlier && !is_one_of(name, names)) unknown = name;
  }
  return unknown;
}

std::size_t checked_list(lua_State* lua, int index, const char* function, const char* what) {
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected a list of %s, got %s", function, what, luaL_typename(lua, index));
  }
  const auto length = static_cast<std::size_t>(lua_rawlen(lua, index));
  if (length > 0) return length;
  const int table = lua_absindex(lua, index);
  luaL_checkstack(lua, 4, function);
  lua_pushnil(lua);
  if (lua_next(lua, table) == 0) return 0;
  luaL_error(lua,
             "%s: expected a list of %s, got a table with names instead of positions; one alone "
             "goes into a list, {one}",
             function, what);
  return 0;
}

const char* shown(lua_State* lua, int index) {
  return lua_type(lua, index) == LUA_TNUMBER ? lua_tostring(lua, index) : luaL_typename(lua, index);
}

long long place_at(lua_State* lua, int index) {
  if (lua_type(lua, index) != LUA_TNUMBER) return 0;
  int is_whole = 0;
  const lua_Integer place = lua_tointegerx(lua, index, &is_whole);
  return is_whole != 0 ? place : 0;
}

}  // namespace gearshift
