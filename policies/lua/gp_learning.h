// What gp.learn takes from an answer of measure.
#pragma once

#include <array>
#include <lua.hpp>
#include <optional>

#include "controller/setting.h"
#include "policies/lua/script_state.h"
#include "policies/lua/values.h"

namespace gearshift {

// An answer as plain data. Everything a script wrote is checked.
struct LearntAnswer {
  SettingFields fields;
  bool ok = false;
  bool over_limit = false;
  bool late = false;
  bool applied = true;  // what was asked for came into force
  double minibatch_ms = 0;
  double minibatch_ms_stddev = 0;
  double count = 0;
  double power_w = 0;
  double power_max_w = 0;  // of a window
  double power_margin_w = 0;
  double limit_w = 0;
  double slower_than_ms = 0;  // of a minibatch of what was late; NaN or 0 where it does not tell
  double cut_at_w = 0;        // what was read as the guard cut it short; infinity where it did not
  // Of each kind, where both ran.
  struct Part {
    bool given = false;
    double ms = 0;
    double ms_stddev = 0;
    double count = 0;
  };
  std::array<Part, kKinds> parts{};
};

// Reads the answer, which is the first argument; a Lua error where it is none.
void copy_answer(lua_State* lua, LearntAnswer& answer);

// Teaches the script's gp, which is there. Whether the answer has taught anything; nullopt and
// `state.error` where it cannot be one.
std::optional<bool> learn_answer(ScriptState& state, const LearntAnswer& answer) noexcept;

}  // namespace gearshift
