#include "policies/lua/memory_library.h"

#include <cstddef>
#include <cstdint>
#include <lua.hpp>

#include "policies/lua/script_state.h"
#include "policies/lua/surface_library.h"
#include "policies/lua/terms.h"
#include "policies/numerics/recall.h"

namespace gearshift {
namespace {

constexpr lua_Integer kMostRecalled = 1024;
// Instructions: what recalling takes for each observation there is.
constexpr std::int64_t kRecallCharge = 10;

// A newer one that answers no more hides those before it, as it does for `measure`.
void note(KnownSettings& known, const Observation& one, const Goal& goal) {
  if (one.answers(goal.power_mw.value_or(0), goal.arrivals_per_s)) {
    known.settings.insert(one.setting);
  } else {
    known.settings.erase(one.setting);
  }
}

void choose_recalled(ScriptState& state, std::size_t most) noexcept {
  state.recalled = recall(state.context.observations, state.context.goal, most);
}

// recall(most)
int recall_positions(lua_State* lua) {
  const lua_Integer most = place_at(lua, 1);
  if (most < 1 || most > kMostRecalled) {
    return luaL_error(
        lua, "recall: expected a whole number from 1 to %d, got %s",
        static_cast<int>(kMostRecalled),
        lua_type(lua, 1) == LUA_TNUMBER ? lua_tostring(lua, 1) : luaL_typename(lua, 1));
  }
  ScriptState& state = state_of(lua);
  charge(lua, kRecallCharge * static_cast<std::int64_t>(state.context.observations.size()));
  choose_recalled(state, static_cast<std::size_t>(most));
  lua_createtable(lua, static_cast<int>(state.recalled.size()), 0);
  for (std::size_t i = 0; i < state.recalled.size(); ++i) {
    lua_pushinteger(lua, static_cast<lua_Integer>(state.recalled[i] + 1));
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  return 1;
}

// known(setting)
int setting_is_known(lua_State* lua) {
  ScriptState& state = state_of(lua);
  charge(lua, kSettingCharge + charge_to_know(state));
  lua_pushboolean(lua, is_known(state, checked_setting(lua, 1, "known")) ? 1 : 0);
  return 1;
}

}  // namespace

bool is_known(ScriptState& state, const Setting& setting) noexcept {
  const PolicyContext& context = state.context;
  if (!state.known) {
    state.known.emplace();
    for (const Observation& one : context.observations) note(*state.known, one, context.goal);
  }
  for (; state.known->answers < state.answers.size(); ++state.known->answers) {
    note(*state.known, state.answers[state.known->answers], context.goal);
  }
  return state.known->settings.contains(setting);
}

std::int64_t charge_to_know(const ScriptState& state) {
  if (state.known) return 0;
  return kRecallCharge * static_cast<std::int64_t>(state.context.observations.size());
}

void add_memory(lua_State* lua) {
  lua_pushcfunction(lua, recall_positions);
  lua_setfield(lua, -2, "recall");
  lua_pushcfunction(lua, setting_is_known);
  lua_setfield(lua, -2, "known");
}

}  // namespace gearshift
