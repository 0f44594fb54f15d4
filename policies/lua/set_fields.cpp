#include "policies/lua/set_fields.h"

#include <lua.hpp>

namespace gearshift {

void push_text(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void push_scaled(lua_State* lua, std::int64_t value, Unit unit) {
  const auto scale = static_cast<std::int64_t>(unit_scale(unit));
  if (value % scale == 0) {
    lua_pushinteger(lua, value / scale);
  } else {
    lua_pushnumber(lua, static_cast<double>(value) / static_cast<double>(scale));
  }
}

void set_number(lua_State* lua, const char* field, double value) {
  lua_pushnumber(lua, value);
  lua_setfield(lua, -2, field);
}

void set_integer(lua_State* lua, const char* field, std::int64_t value) {
  lua_pushinteger(lua, value);
  lua_setfield(lua, -2, field);
}

void set_text(lua_State* lua, const char* field, std::string_view text) {
  push_text(lua, text);
  lua_setfield(lua, -2, field);
}

void set_flag(lua_State* lua, const char* field, bool value) {
  lua_pushboolean(lua, value ? 1 : 0);
  lua_setfield(lua, -2, field);
}

}  // namespace gearshift
