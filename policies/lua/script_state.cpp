#include "policies/lua/script_state.h"

#include <cstring>
#include <lua.hpp>

#include "controller/memory.h"
#include "policies/lua/gp_search.h"

namespace gearshift {
namespace {

// FNV-1a: std::hash differs between libraries, and a seed must not.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::mt19937_64 seeded(std::uint64_t seed, std::string_view name, std::size_t observations) {
  const std::uint64_t hash = hash_name(name);
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32),
                         static_cast<std::uint32_t>(observations)};
  return std::mt19937_64(sequence);
}

// Level 0 is the function that spends; a C function has no line, so its caller is named.
void push_place(lua_State* lua) {
  luaL_where(lua, 0);
  if (*lua_tostring(lua, -1) != '\0') return;
  lua_pop(lua, 1);
  luaL_where(lua, 1);
}

}  // namespace

ScriptState::ScriptState(std::string_view script_name, const LuaLimits& limits_to_keep,
                         const PolicyContext& policy_context, const ScriptModels& models,
                         LogLines& log_lines)
    : name(script_name),
      limits(limits_to_keep),
      context(policy_context),
      overruled(gearshift::overruled(context.observations, context.goal)),
      board(models.board),
      transfer(models.transfer),
      log(log_lines),
      memory(limits),
      random(seeded(policy_context.seed, script_name, policy_context.observations.size())) {}

ScriptState::~ScriptState() = default;

ScriptState& state_of(lua_State* lua) {
  ScriptState* state = nullptr;
  std::memcpy(&state, lua_getextraspace(lua), sizeof(state));
  return *state;
}

void set_state(lua_State* lua, ScriptState& state) {
  ScriptState* pointer = &state;
  std::memcpy(lua_getextraspace(lua), &pointer, sizeof(pointer));
}

void charge(lua_State* lua, std::int64_t instructions) {
  ScriptState& state = state_of(lua);
  state.instructions_used += instructions;
  if (state.instructions_used <= state.limits.instructions_per_answer) return;
  push_place(lua);
  lua_pushfstring(lua,
                  "spent its %d instructions without a new measurement; the script must measure, "
                  "or return a setting, sooner",
                  static_cast<int>(state.limits.instructions_per_answer));
  lua_concat(lua, 2);
  lua_error(lua);
}

void check_time(lua_State* lua) {
  ThinkTime* const time = state_of(lua).limits.think_time;
  if (time == nullptr || !time->over()) return;
  push_place(lua);
  lua_pushliteral(lua,
                  "took all the processor time that a script may take between two measurements; "
                  "long strings and tables of far apart numbers make single instructions slow");
  lua_concat(lua, 2);
  lua_error(lua);
}

}  // namespace gearshift
