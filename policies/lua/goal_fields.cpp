#include "policies/lua/goal_fields.h"

#include <lua.hpp>

#include "policies/lua/script_state.h"
#include "policies/lua/set_fields.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"

namespace gearshift {
namespace {

// goal.latency_of(batch_size, minibatch_ms)
int latency_of(lua_State* lua) {
  const Goal& goal = state_of(lua).context.goal;
  const double batch_size = luaL_checknumber(lua, 1);
  const double minibatch_ms = luaL_checknumber(lua, 2);
  const bool known = goal.arrivals_per_s > 0;
  lua_pushnumber(
      lua, known ? 1e3 * goal.counted_latency_s(batch_size, minibatch_ms / 1e3) : minibatch_ms);
  return 1;
}

// goal.most_ms(batch_size)
int most_ms(lua_State* lua) {
  const GoalJudge judge(state_of(lua).context.goal, Kind::infer, kHuge);
  lua_pushnumber(lua, judge.most_ms(luaL_checknumber(lua, 1)));
  return 1;
}

}  // namespace

void push_goal(lua_State* lua, const Goal& goal) {
  lua_createtable(lua, 0, 14);
  set_text(lua, "objective", objective_name(goal.objective));
  if (goal.power_mw) {
    push_scaled(lua, *goal.power_mw, Unit::mw);
  } else {
    lua_pushnumber(lua, kHuge);
  }
  lua_setfield(lua, -2, "power_w");
  set_number(lua, "latency_ms", goal.latency ? milliseconds(*goal.latency) : kHuge);
  set_number(lua, "arrivals_per_s", goal.arrivals_per_s);
  set_flag(lua, "one_by_one", goal.one_by_one);
  set_number(lua, "most_busy", goal.most_busy());
  set_number(lua, "most_busy_half_full", kMostBusy);
  set_number(lua, "energy_weight", goal.energy_weight);
  set_number(lua, "priced_power_w", static_cast<double>(goal.priced_power_mw) / 1e3);
  set_number(lua, "energy_j", goal.energy_j.value_or(kHuge));
  set_number(lua, "reference_ms", 1e3 * goal.reference_s);
  set_number(lua, "reference_j", goal.reference_j);
  lua_pushcfunction(lua, latency_of);
  lua_setfield(lua, -2, "latency_of");
  lua_pushcfunction(lua, most_ms);
  lua_setfield(lua, -2, "most_ms");
}

}  // namespace gearshift
