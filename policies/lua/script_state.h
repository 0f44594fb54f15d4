// What the C functions of one Lua state share: the budget, the question asked and the answer given.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>

#include "controller/policy.h"
#include "policies/lua/bounded_memory.h"
#include "policies/lua/log_lines.h"
#include "policies/lua/lua_limits.h"
#include "policies/lua/setting_fields.h"

struct lua_State;

namespace gearshift {

struct BoardModel;

struct ScriptState {
  ScriptState(std::string_view script_name, const LuaLimits& limits_to_keep,
              const PolicyContext& policy_context, const BoardModel* model_of_board,
              LogLines& log_lines);

  const std::string_view name;  // of the script's file; outlives the state
  const LuaLimits limits;
  const PolicyContext context;
  const BoardModel* const board;  // null where no model of it is known
  LogLines& log;
  BoundedMemory memory;
  std::mt19937_64 random;  // seeded from (seed, name, number of observations)
  std::int64_t instructions_used = 0;
  Request request;
  const Observation* answer = nullptr;  // valid while a resume runs
  int returned_line = 0;                // of the script's last return
  ErrorText error;                      // of the last body that failed
};

// The state every C function of a Lua state works on: kept in the state's extra space.
ScriptState& state_of(lua_State* lua);
void set_state(lua_State* lua, ScriptState& state);

// Takes `instructions` from the budget. Raises a Lua error, which nothing in a script can catch,
// once it is spent. Called by the count hook and by C functions whose work grows with their input.
void charge(lua_State* lua, std::int64_t instructions);

}  // namespace gearshift
