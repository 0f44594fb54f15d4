#include "policies/lua/library.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <lua.hpp>
#include <random>
#include <string_view>

#include "policies/lua/format.h"
#include "policies/lua/ordered_library.h"
#include "policies/lua/script_state.h"

namespace gearshift {
namespace {

constexpr const char* kBaseNames[] = {"assert", "error", "select", "type"};
constexpr const char* kMathNames[] = {
    "abs",  "acos", "asin", "atan", "ceil",       "cos",  "deg",        "exp",  "floor",
    "fmod", "huge", "log",  "max",  "maxinteger", "min",  "mininteger", "modf", "pi",
    "rad",  "sin",  "sqrt", "tan",  "tointeger",  "type", "ult"};
constexpr const char* kStringNames[] = {"byte", "len", "lower", "sub", "upper"};
constexpr lua_Integer kMaxUnpacked = 64;

// Copies fields from the table at the top to the one below it, and pops the upper one.
template <std::size_t N>
void take_fields(lua_State* lua, const char* const (&names)[N]) {
  for (const char* name : names) {
    lua_getfield(lua, -1, name);
    lua_setfield(lua, -3, name);
  }
  lua_pop(lua, 1);
}

void set_function(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

// An unbiased draw from [0, range]: engine output only, so that every library draws the same.
std::uint64_t draw(std::mt19937_64& engine, std::uint64_t range) noexcept {
  if (range == UINT64_MAX) return engine();
  const std::uint64_t buckets = range + 1;
  const std::uint64_t fair = UINT64_MAX - UINT64_MAX % buckets;
  std::uint64_t drawn = engine();
  while (drawn >= fair) drawn = engine();
  return drawn % buckets;
}

int math_random(lua_State* lua) {
  std::mt19937_64& engine = state_of(lua).random;
  if (lua_gettop(lua) == 0) {
    lua_pushnumber(lua, static_cast<double>(engine() >> 11) * 0x1p-53);
    return 1;
  }
  luaL_argcheck(lua, lua_gettop(lua) <= 2, 3, "two bounds at most");
  const bool has_low = lua_gettop(lua) > 1;
  const lua_Integer low = has_low ? luaL_checkinteger(lua, 1) : 1;
  const lua_Integer high = luaL_checkinteger(lua, has_low ? 2 : 1);
  luaL_argcheck(lua, low <= high, has_low ? 2 : 1, "interval is empty");
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  lua_pushinteger(lua,
                  static_cast<lua_Integer>(static_cast<std::uint64_t>(low) + draw(engine, range)));
  return 1;
}

// Lua's own takes anything, and names nothing once the loop looks for the first value. Closes over
// its iterator.
int ipairs_of_list(lua_State* lua) {
  const int type = lua_type(lua, 1);
  const bool handle = type == LUA_TUSERDATA && luaL_getmetafield(lua, 1, "__index") != LUA_TNIL;
  if (type != LUA_TTABLE && !handle) {
    return luaL_error(lua, "ipairs: expected a table, got %s", luaL_typename(lua, 1));
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_pushvalue(lua, 1);
  lua_pushinteger(lua, 0);
  return 3;
}

// From the base library at the top to the table below it.
void take_ipairs(lua_State* lua) {
  lua_getfield(lua, -1, "ipairs");
  lua_newtable(lua);
  lua_call(lua, 1, 1);  // the iterator
  lua_pushcclosure(lua, ipairs_of_list, 1);
  lua_setfield(lua, -3, "ipairs");
}

int to_number(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (!lua_isnoneornil(lua, 2)) return luaL_error(lua, "tonumber: takes no base");
  std::size_t length = 0;
  if (lua_type(lua, 1) == LUA_TNUMBER) {
    lua_settop(lua, 1);
  } else if (lua_type(lua, 1) != LUA_TSTRING) {
    lua_pushnil(lua);
  } else {
    const char* text = lua_tolstring(lua, 1, &length);
    charge(lua, static_cast<std::int64_t>(length / 8));
    if (lua_stringtonumber(lua, text) != length + 1) lua_pushnil(lua);
  }
  return 1;
}

int to_string(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_type(lua, 1) == LUA_TSTRING) {
    lua_settop(lua, 1);
    return 1;
  }
  std::array<char, kNumberBytes> digits;
  const std::string_view text = plain_text(lua, 1, digits);
  charge(lua, static_cast<std::int64_t>(2 * text.size()));
  lua_pushlstring(lua, text.data(), text.size());
  return 1;
}

int table_unpack(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  const lua_Integer first = luaL_optinteger(lua, 2, 1);
  const lua_Integer last = lua_isnoneornil(lua, 3) ? luaL_len(lua, 1) : luaL_checkinteger(lua, 3);
  if (first > last) return 0;
  const lua_Unsigned count = static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first);
  if (count >= static_cast<lua_Unsigned>(kMaxUnpacked)) {
    return luaL_error(lua, "table.unpack: at most %d values at once",
                      static_cast<int>(kMaxUnpacked));
  }
  luaL_checkstack(lua, static_cast<int>(count) + 1, "table.unpack");
  for (lua_Integer i = first; i < last; ++i) lua_rawgeti(lua, 1, i);
  lua_rawgeti(lua, 1, last);
  return static_cast<int>(count) + 1;
}

int table_concat(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  std::size_t gap_length = 0;
  const char* gap = luaL_optlstring(lua, 2, "", &gap_length);
  const lua_Integer first = luaL_optinteger(lua, 3, 1);
  const lua_Integer last = lua_isnoneornil(lua, 4) ? luaL_len(lua, 1) : luaL_checkinteger(lua, 4);
  FormattedText joined;
  for (lua_Integer i = first; i <= last; ++i) {
    charge(lua, 4);
    if (i > first && !joined.append({gap, gap_length})) break;
    lua_rawgeti(lua, 1, i);
    if (lua_type(lua, -1) != LUA_TSTRING && lua_type(lua, -1) != LUA_TNUMBER) {
      return luaL_error(lua, "table.concat: value %d is a %s; strings and numbers can be joined",
                        static_cast<int>(i), luaL_typename(lua, -1));
    }
    std::array<char, kNumberBytes> digits;
    const std::string_view text = plain_text(lua, -1, digits);
    // Printing digits is slow.
    if (lua_type(lua, -1) == LUA_TNUMBER) charge(lua, static_cast<std::int64_t>(2 * text.size()));
    if (!joined.append(text)) break;
    lua_pop(lua, 1);
    if (i == LUA_MAXINTEGER) break;
  }
  return push_formatted(lua, joined, "table.concat");
}

// Calls the library function it closes over, whose work grows with the string it is given.
int charge_by_length(lua_State* lua) {
  std::size_t length = 0;
  luaL_checklstring(lua, 1, &length);
  charge(lua, static_cast<std::int64_t>(length));
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

void charge_function(lua_State* lua, const char* name) {
  lua_getfield(lua, -1, name);
  lua_pushcclosure(lua, charge_by_length, 1);
  lua_setfield(lua, -2, name);
}

// A string's methods: ("x"):upper().
void add_string_methods(lua_State* lua) {
  lua_pushliteral(lua, "");
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

}  // namespace

void push_library(lua_State* lua) {
  luaL_checkstack(lua, 8, "library");
  lua_createtable(lua, 0, 24);
  lua_pushcfunction(lua, luaopen_base);
  lua_call(lua, 0, 1);
  lua_getfield(lua, -1, "next");
  lua_insert(lua, -3);  // next, library, base
  take_ipairs(lua);
  take_fields(lua, kBaseNames);
  set_function(lua, "tonumber", to_number);
  set_function(lua, "tostring", to_string);

  lua_createtable(lua, 0, 32);
  lua_pushcfunction(lua, luaopen_math);
  lua_call(lua, 0, 1);
  take_fields(lua, kMathNames);
  set_function(lua, "random", math_random);
  lua_setfield(lua, -2, "math");

  lua_createtable(lua, 0, 8);
  lua_pushcfunction(lua, luaopen_string);
  lua_call(lua, 0, 1);
  take_fields(lua, kStringNames);
  for (const char* name : {"byte", "lower", "upper"}) charge_function(lua, name);
  set_function(lua, "format", string_format);
  add_string_methods(lua);
  lua_setfield(lua, -2, "string");

  lua_createtable(lua, 0, 6);
  set_function(lua, "concat", table_concat);
  set_function(lua, "unpack", table_unpack);
  lua_setfield(lua, -2, "table");

  lua_insert(lua, -2);  // library, next
  add_ordered_library(lua);
}

}  // namespace gearshift
