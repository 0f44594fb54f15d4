#include "policies/lua/predict_library.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <lua.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/lua/script_state.h"
#include "policies/lua/surface_library.h"
#include "policies/numerics/mode_transfer.h"

namespace gearshift {
namespace {

// A transfer takes longer than the whole budget would; what a script may spend besides is bounded
// by the measurement that has to come before it.
constexpr std::int64_t kTransferCharge = 500'000;
constexpr std::int64_t kObjectionCharge = 20'000;  // the first one reads the reference
constexpr std::size_t kMostRows = 64;              // the newest: 50 rows take 0.3 s

// What was measured, as a table. The newest answer of a setting counts.
Profile measured_profile(const ScriptState& state) {
  const Kind kind = state.grid->kind();
  Profile profile(*state.context.knobs);
  profile.device = "this board";
  profile.workload = "this workload";
  profile.kind = kind;
  const auto add = [&](const Observation& answer) {
    const Cost& cost = answer.cost[index(kind)];
    if (!answer.ok() || cost.minibatches == 0 || profile.cells().size() >= kMostRows) return;
    const double minibatch_ms = static_cast<double>(cost.minibatch_mean.count()) / 1e6;
    const double power_w = static_cast<double>(answer.power_mean_mw) / 1e3;
    if (minibatch_ms <= 0 || power_w <= 0) return;
    ProfileCell cell;
    cell.mode = answer.setting.mode;
    cell.batch_size = answer.setting.batch_size[index(kind)];
    cell.minibatch_ms = minibatch_ms;
    cell.power_w = power_w;
    profile.add(cell);
  };
  for (auto one = state.answers.rbegin(); one != state.answers.rend(); ++one) add(*one);
  const std::span<const Observation> before = state.context.observations;
  for (auto one = before.rbegin(); one != before.rend(); ++one) add(*one);
  return profile;
}

void fill(const TransferResult& result, Surface& surface) {
  // An error of the mean is 0.8 of a standard deviation; settings that it has not seen are off
  // more.
  const double time = std::max(0.05, 2 * result.time_error);
  const double power = std::max(0.02, 2 * result.power_error);
  for (std::size_t i = 0; i < surface.size(); ++i) {
    surface.log_time[i] = static_cast<float>(std::log(result.minibatch_ms[i]));
    surface.log_power[i] = static_cast<float>(std::log(result.power_w[i]));
    surface.time_deviation[i] = static_cast<float>(time);
    surface.power_deviation[i] = static_cast<float>(power);
  }
}

// False, with state.error set, where it cannot be done.
bool transfer(ScriptState& state, Surface& surface) noexcept {
  try {
    const SettingGrid& grid = *state.grid;
    std::vector<TransferSetting> settings;
    settings.reserve(grid.size());
    for (std::size_t i = 0; i < grid.size(); ++i) {
      const Setting setting = grid.setting(i);
      settings.push_back({setting.mode, setting.batch_size[index(grid.kind())]});
    }
    const Profile measured = measured_profile(state);
    fill(state.transfer->transfer(measured, settings), surface);
    return true;
  } catch (const std::exception& error) {
    state.error = ErrorText(error.what());
    return false;
  }
}

// Sets state.error where something speaks against a transfer; false where nothing does.
bool has_objection(ScriptState& state) noexcept {
  try {
    std::vector<std::int32_t> sizes;
    for (const std::int64_t size : state.grid->batch_sizes()) {
      sizes.push_back(static_cast<std::int32_t>(size));
    }
    const std::string objection = state.transfer->objection(*state.context.knobs, sizes);
    state.error = ErrorText(objection);
    return !objection.empty();
  } catch (const std::exception& error) {
    state.error = ErrorText(error.what());
    return true;
  }
}

int predict_objection(lua_State* lua) {
  ScriptState& state = state_of(lua);
  checked_grid(lua);
  if (state.transfer == nullptr) {
    lua_pushliteral(lua, "this program runs scripts without PowerTrain");
    return 1;
  }
  charge(lua, kObjectionCharge);
  if (has_objection(state)) {
    lua_pushlstring(lua, state.error.bytes.data(), state.error.length);
  } else {
    lua_pushnil(lua);
  }
  return 1;
}

// Why `safe` may not be in force; null where it is: it was measured last, or too slow to end a
// minibatch.
const char* why_unsafe(const ScriptState& state) {
  if (state.answers.empty()) return "nothing was measured";
  const Observation& last = state.answers.back();
  if (last.setting.mode != state.context.safe) return "another mode was measured last";
  const bool in_force = last.ok() || last.outcome == Outcome::stalled;
  return in_force ? nullptr : outcome_name(last.outcome).data();
}

int predict_transfer(lua_State* lua) {
  ScriptState& state = state_of(lua);
  checked_grid(lua);
  if (state.transfer == nullptr) {
    return luaL_error(lua, "predict.transfer: this program runs scripts without PowerTrain");
  }
  if (const char* unsafe = why_unsafe(state)) {
    return luaL_error(lua,
                      "predict.transfer: remeasure `safe` first (%s): nothing is guarded while the "
                      "networks are trained, so the lowest mode has to be in force",
                      unsafe);
  }
  charge(lua, kTransferCharge);
  Surface& surface = push_surface(lua);
  const bool done = transfer(state, surface);
  state.begin_thinking();  // that time was not the script's own
  if (done) return 1;
  lua_pushlstring(lua, state.error.bytes.data(), state.error.length);
  return luaL_error(lua, "predict.transfer: %s", lua_tostring(lua, -1));
}

}  // namespace

void add_predict(lua_State* lua) {
  lua_createtable(lua, 0, 2);
  lua_pushcfunction(lua, predict_objection);
  lua_setfield(lua, -2, "objection");
  lua_pushcfunction(lua, predict_transfer);
  lua_setfield(lua, -2, "transfer");
  lua_setfield(lua, -2, "predict");
}

}  // namespace gearshift
