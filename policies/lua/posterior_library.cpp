#include "policies/lua/posterior_library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <lua.hpp>

#include "policies/lua/script_state.h"
#include "policies/lua/set_fields.h"
#include "policies/lua/terms.h"
#include "policies/numerics/normal_inverse_gamma.h"

namespace gearshift {
namespace {

constexpr std::size_t kMostValues = 256;
constexpr double kMostBelief = 1e15;  // squares and their sums stay finite
constexpr double kMostScale = 1e33;   // half the squares of so many values, as far apart as can be

// Whether there is a number from `least` to `most` at `index`.
bool is_within(lua_State* lua, int index, double least, double most) {
  const double value = lua_type(lua, index) == LUA_TNUMBER ? lua_tonumber(lua, index) : NAN;
  return value >= least && value <= most;
}

double belief_field(lua_State* lua, const char* function, const char* name, double least,
                    double most = kMostBelief) {
  lua_getfield(lua, 1, name);
  if (!is_within(lua, -1, least, most)) {
    luaL_error(lua, "%s: %s: expected a number from %f to %s, got %s", function, name, least,
               most == kMostScale ? "1e33" : "1e15", shown(lua, -1));
  }
  const double value = lua_tonumber(lua, -1);
  lua_pop(lua, 1);
  return value;
}

NormalInverseGamma checked_belief(lua_State* lua, const char* function, double least_weight) {
  constexpr double kLeastShape = 1e-3;  // below it a variance has no scale to speak of
  if (lua_type(lua, 1) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected a belief, {mean = 0, weight = 0, shape = 1, scale = 1}, got %s",
               function, luaL_typename(lua, 1));
  }
  NormalInverseGamma belief;
  belief.mean = belief_field(lua, function, "mean", -kMostBelief);
  belief.weight = belief_field(lua, function, "weight", least_weight);
  belief.shape = belief_field(lua, function, "shape", kLeastShape);
  belief.scale = belief_field(lua, function, "scale", 0, kMostScale);
  return belief;
}

// What a script may hand back: worth and variance end at what can be taken.
NormalInverseGamma bounded(NormalInverseGamma belief) {
  belief.mean = std::clamp(belief.mean, -kMostBelief, kMostBelief);  // rounded, it may lie beyond
  belief.weight = std::min(belief.weight, kMostBelief);
  belief.shape = std::min(belief.shape, kMostBelief);
  belief.scale = std::min(belief.scale, kMostScale);
  return belief;
}

int update(lua_State* lua) {
  const NormalInverseGamma prior = checked_belief(lua, "posterior.update", 0);
  const std::size_t count = checked_list(lua, 2, "posterior.update", "values");
  if (count > kMostValues) {
    return luaL_error(lua, "posterior.update: %d values; at most %d at once",
                      static_cast<int>(count), static_cast<int>(kMostValues));
  }
  charge(lua, static_cast<std::int64_t>(4 * count));
  std::array<double, kMostValues> values;
  for (std::size_t i = 0; i < count; ++i) {
    lua_rawgeti(lua, 2, static_cast<lua_Integer>(i + 1));
    if (!is_within(lua, -1, -kMostBelief, kMostBelief)) {
      return luaL_error(lua,
                        "posterior.update: value %d: expected a number from %f to 1e15, got %s",
                        static_cast<int>(i + 1), -kMostBelief, shown(lua, -1));
    }
    values[i] = lua_tonumber(lua, -1);
    lua_pop(lua, 1);
  }
  const NormalInverseGamma after = bounded(prior.updated({values.data(), count}));
  lua_createtable(lua, 0, 4);
  set_number(lua, "mean", after.mean);
  set_number(lua, "weight", after.weight);
  set_number(lua, "shape", after.shape);
  set_number(lua, "scale", after.scale);
  return 1;
}

int draw_belief(lua_State* lua) {
  constexpr double kLeastWeight = 1e-6;
  const NormalInverseGamma belief = checked_belief(lua, "posterior.draw", kLeastWeight);
  charge(lua, 50);
  lua_pushnumber(lua, belief.draw(state_of(lua).random));
  return 1;
}

}  // namespace

void add_posterior(lua_State* lua) {
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, update);
  lua_setfield(lua, -2, "update");
  lua_pushcfunction(lua, draw_belief);
  lua_setfield(lua, -2, "draw");
  lua_setfield(lua, -2, "posterior");
}

}  // namespace gearshift
