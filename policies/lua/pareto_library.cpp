#include "policies/lua/pareto_library.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <lua.hpp>

#include "policies/lua/script_state.h"
#include "policies/lua/terms.h"
#include "policies/numerics/pareto_front.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostPoints = 1024;
constexpr std::int64_t kPointCharge = 60;

struct Points {
  std::array<CostPair, kMostPoints> costs;
  std::array<std::size_t, kMostPoints> front;
  std::size_t count = 0;
  std::size_t front_count = 0;
};

double cost_field(lua_State* lua, std::size_t row, const char* name) {
  lua_getfield(lua, -1, name);
  if (lua_type(lua, -1) != LUA_TNUMBER) {
    luaL_error(lua, "pareto.front: point %d has no number '%s'", static_cast<int>(row), name);
  }
  const double cost = lua_tonumber(lua, -1);
  if (std::isnan(cost)) {
    luaL_error(lua, "pareto.front: point %d: '%s' is no number (nan)", static_cast<int>(row), name);
  }
  lua_pop(lua, 1);
  return cost;
}

const char* field_name(lua_State* lua, int index, const char* otherwise) {
  if (lua_isnoneornil(lua, index)) return otherwise;
  if (lua_type(lua, index) != LUA_TSTRING) {
    luaL_error(lua, "pareto.front: expected the name of a field, got %s",
               luaL_typename(lua, index));
  }
  return lua_tostring(lua, index);
}

void find_front(Points& points) noexcept {
  for (const std::size_t i : pareto_front({points.costs.data(), points.count})) {
    points.front[points.front_count++] = i;
  }
}

// pareto.front(points, first, second)
int front(lua_State* lua) {
  Points points;
  points.count = checked_list(lua, 1, "pareto.front", "points");
  const char* first = field_name(lua, 2, "power_w");
  const char* second = field_name(lua, 3, "minibatch_ms");
  if (points.count > kMostPoints) {
    return luaL_error(lua, "pareto.front: %d points; at most %d can be taken",
                      static_cast<int>(points.count), static_cast<int>(kMostPoints));
  }
  charge(lua, kPointCharge * static_cast<std::int64_t>(points.count));
  for (std::size_t i = 0; i < points.count; ++i) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(i + 1));
    if (lua_type(lua, -1) != LUA_TTABLE) {
      return luaL_error(lua, "pareto.front: point %d is a %s, not a table", static_cast<int>(i + 1),
                        luaL_typename(lua, -1));
    }
    points.costs[i].first = cost_field(lua, i + 1, first);
    points.costs[i].second = cost_field(lua, i + 1, second);
    lua_pop(lua, 1);
  }
  find_front(points);
  lua_createtable(lua, static_cast<int>(points.front_count), 0);
  for (std::size_t i = 0; i < points.front_count; ++i) {
    lua_rawgeti(lua, 1, static_cast<lua_Integer>(points.front[i] + 1));
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  return 1;
}

}  // namespace

void add_pareto(lua_State* lua) {
  lua_createtable(lua, 0, 1);
  lua_pushcfunction(lua, front);
  lua_setfield(lua, -2, "front");
  lua_setfield(lua, -2, "pareto");
}

}  // namespace gearshift
