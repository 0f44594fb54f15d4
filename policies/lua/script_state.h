// What the C functions of one Lua state share: the budget, the question asked and the answer given.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "controller/memory.h"
#include "controller/policy.h"
#include "policies/lua/bounded_memory.h"
#include "policies/lua/log_lines.h"
#include "policies/lua/lua_limits.h"
#include "policies/lua/script_models.h"
#include "policies/lua/setting_fields.h"
#include "policies/numerics/setting_grid.h"
#include "policies/numerics/surface.h"

struct lua_State;

namespace gearshift {

struct GpSearch;

// So many surfaces a script can hold at a time; each is at most half a megabyte.
inline constexpr std::size_t kMostSurfaces = 4;

// The settings that `measure` answers from memory, lookup only.
struct KnownSettings {
  std::unordered_set<Setting, SettingHash> settings;
  std::size_t answers = 0;  // of the run, that are counted in
};

struct ScriptState {
  ScriptState(std::string_view script_name, const LuaLimits& limits_to_keep,
              const PolicyContext& policy_context, const ScriptModels& models, LogLines& log_lines);
  ~ScriptState();

  void begin_thinking() {
    if (limits.think_time != nullptr) limits.think_time->begin();
  }

  const std::string_view name;  // of the script's file; outlives the state
  const LuaLimits limits;
  const PolicyContext context;
  const std::vector<bool> overruled;   // of context.observations, see controller/memory.h
  const BoardModel* const board;       // null where no model of it is known
  const ModeTransfer* const transfer;  // null where there are no networks
  LogLines& log;
  BoundedMemory memory;
  std::mt19937_64 random;        // seeded from (seed, name, number of observations)
  std::unique_ptr<GpSearch> gp;  // null until the script uses it
  std::int64_t instructions_used = 0;
  Request request;
  const Observation* answer = nullptr;  // valid while a resume runs
  int line = 0;     // while the script is compiled, the last one read; then of its last return
  ErrorText error;  // of the last body that failed
  std::vector<Observation> answers;    // measured in this run, in the order they were given
  std::vector<std::size_t> recalled;   // of context.observations, as last asked for
  std::optional<KnownSettings> known;  // made on first use
  std::unique_ptr<SettingGrid> grid;   // made on first use
  std::array<std::unique_ptr<Surface>, kMostSurfaces> surfaces;  // a handle has the index of one
};

// The state every C function of a Lua state works on: kept in the state's extra space.
ScriptState& state_of(lua_State* lua);
void set_state(lua_State* lua, ScriptState& state);

// Takes `instructions` from the budget. Raises a Lua error, which nothing in a script can catch,
// once it is spent. Called by the count hook and by C functions whose work grows with their input.
void charge(lua_State* lua, std::int64_t instructions);

// Raises such an error where the script has thought too long. Called by the count hook alone.
void check_time(lua_State* lua);

}  // namespace gearshift
