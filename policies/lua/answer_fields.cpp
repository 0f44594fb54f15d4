#include "policies/lua/answer_fields.h"

#include <cmath>
#include <cstdint>
#include <lua.hpp>

#include "policies/lua/terms.h"

namespace gearshift {
namespace {

// Of the value on top of the stack, popped.
double checked_number(lua_State* lua, const char* what, const char* name) {
  const double value = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : NAN;
  if (!(value >= 0)) {
    luaL_error(lua, "%s: %s: expected a number from 0, got %s; what is not known is math.huge",
               what, name, shown(lua, -1));
  }
  lua_pop(lua, 1);
  return value;
}

void refuse_reason(lua_State* lua, const char* what, const char* reason) {
  luaL_Buffer known;
  luaL_buffinit(lua, &known);
  for (std::uint8_t i = 0; i < kOutcomes; ++i) {
    if (i > 0) luaL_addstring(&known, ", ");
    luaL_addstring(&known, outcome_name(static_cast<Outcome>(i)).data());
  }
  luaL_pushresult(&known);
  luaL_error(lua, "%s: reason: '%s' is none of measure's: %s", what, reason, lua_tostring(lua, -1));
}

}  // namespace

double optional_number(lua_State* lua, int index, const char* what, const char* name) {
  lua_getfield(lua, index, name);
  if (!lua_isnil(lua, -1)) return checked_number(lua, what, name);
  lua_pop(lua, 1);
  return NAN;
}

double needed_number(lua_State* lua, int index, const char* what, const char* name) {
  lua_getfield(lua, index, name);
  return checked_number(lua, what, name);
}

bool optional_flag(lua_State* lua, int index, const char* what, const char* name) {
  lua_getfield(lua, index, name);
  if (!lua_isnil(lua, -1) && !lua_isboolean(lua, -1)) {
    luaL_error(lua, "%s: %s: expected true or false, got %s", what, name, luaL_typename(lua, -1));
  }
  const bool is_set = lua_toboolean(lua, -1) != 0;
  lua_pop(lua, 1);
  return is_set;
}

std::optional<Outcome> answer_reason(lua_State* lua, int index, const char* what) {
  lua_getfield(lua, index, "reason");
  if (lua_isnil(lua, -1)) {
    lua_pop(lua, 1);
    return std::nullopt;
  }
  if (lua_type(lua, -1) != LUA_TSTRING) {
    luaL_error(lua, "%s: reason: expected a string, got %s", what, luaL_typename(lua, -1));
  }
  const char* reason = lua_tostring(lua, -1);
  const std::optional<Outcome> outcome = outcome_from_word(reason);
  if (!outcome) refuse_reason(lua, what, reason);
  lua_pop(lua, 1);
  return outcome;
}

}  // namespace gearshift
