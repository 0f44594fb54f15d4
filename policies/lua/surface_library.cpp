#include "policies/lua/surface_library.h"

#include <cmath>
#include <limits>
#include <lua.hpp>
#include <span>

#include "policies/lua/script_state.h"
#include "policies/lua/terms.h"
#include "policies/lua/values.h"
#include "policies/numerics/applied_odds.h"

namespace gearshift {
namespace {

constexpr const char* kSurfaceHandle = "surface";
// Instructions of the budget, at 5 to 10 ns each: what predicting a setting takes, what looking at
// one does, and what a full collection of garbage does.
constexpr std::int64_t kPredictCharge = 40;
constexpr std::int64_t kLookCharge = 4;
constexpr std::int64_t kKnownCharge = 10;  // finding one that was observed
constexpr std::int64_t kUnlikelyCharge = 15;
constexpr std::int64_t kCollectCharge = 50'000;
constexpr std::size_t kMostFront = 64;

struct Handle {
  std::size_t slot = kMostSurfaces;
};

std::size_t free_slot(const ScriptState& state) {
  std::size_t slot = 0;
  while (slot < kMostSurfaces && state.surfaces[slot] != nullptr) ++slot;
  return slot;
}

void make_grid(ScriptState& state) noexcept {
  const ModelMode unknown{1, 1, 1, 1};
  state.grid = std::make_unique<SettingGrid>(
      state.context, state.board != nullptr ? state.board->highest : unknown);
}

void make_surface(ScriptState& state, std::size_t slot) noexcept {
  state.surfaces[slot] = std::make_unique<Surface>(state.grid->size());
}

int release(lua_State* lua) {
  const auto* handle = static_cast<const Handle*>(lua_touserdata(lua, 1));
  if (handle->slot < kMostSurfaces) state_of(lua).surfaces[handle->slot].reset();
  return 0;
}

void charge_look(lua_State* lua, const Surface& surface) {
  charge(lua, kLookCharge * static_cast<std::int64_t>(surface.size()));
}

std::size_t checked_number(lua_State* lua, int index, const char* what) {
  charge(lua, kSettingCharge);
  const Setting setting = checked_setting(lua, index, what);
  const std::optional<std::size_t> number = checked_grid(lua).find(setting);
  if (!number) {
    luaL_error(lua,
               "%s: the surface does not have this setting: it has settings of `dimensions`, "
               "where there are more than %d only some of them",
               what, static_cast<int>(kMostGridSettings));
  }
  return *number;
}

RooflinePrediction prediction_of(const Surface& surface, std::size_t number) {
  return {static_cast<double>(surface.log_time[number]),
          static_cast<double>(surface.log_power[number]),
          static_cast<double>(surface.time_deviation[number]),
          static_cast<double>(surface.power_deviation[number])};
}

int surface_at(lua_State* lua) {
  const Surface& surface = checked_surface(lua, 1, "surface:at");
  const std::size_t number = checked_number(lua, 2, "surface:at");
  push_prediction(lua, prediction_of(surface, number), checked_grid(lua).batch_size(number));
  return 1;
}

int surface_exclude(lua_State* lua) {
  Surface& surface = checked_surface(lua, 1, "surface:exclude");
  charge(lua, kSettingCharge);
  // A setting that was thinned out is no candidate anyway.
  const Setting setting = checked_setting(lua, 2, "surface:exclude");
  if (const auto number = checked_grid(lua).find(setting)) surface.excluded[*number] = 1;
  return 0;
}

void exclude_all_known(const ScriptState& state, Surface& surface) noexcept {
  const auto exclude = [&](const Observation& one) {
    if (const auto number = state.grid->find(one.setting)) surface.excluded[*number] = 1;
  };
  const Goal& goal = state.context.goal;
  for (const Observation& one : state.context.observations) {
    if (one.answers(goal.power_mw.value_or(0), goal.arrivals_per_s)) exclude(one);
  }
  for (const Observation& one : state.answers) exclude(one);
}

int surface_exclude_known(lua_State* lua) {
  Surface& surface = checked_surface(lua, 1, "surface:exclude_known");
  const ScriptState& state = state_of(lua);
  const std::size_t all = state.context.observations.size() + state.answers.size();
  charge(lua, kKnownCharge * static_cast<std::int64_t>(all));
  exclude_all_known(state, surface);
  return 0;
}

bool was_not_applied(const Observation& one) {
  return one.outcome == Outcome::refused || one.outcome == Outcome::not_applied ||
         one.outcome == Outcome::timed_out;
}

void exclude_all_unlikely(const ScriptState& state, Surface& surface) noexcept {
  AppliedOdds applied(*state.grid, state.context.safe);
  for (const auto& all : {std::span<const Observation>(state.context.observations),
                          std::span<const Observation>(state.answers)}) {
    for (const Observation& one : all) {
      const auto number = state.grid->find(one.setting);
      if (!number) continue;
      if (one.ok()) applied.applied(*number);
      if (was_not_applied(one)) applied.failed(*number);
    }
  }
  applied.exclude(surface.excluded);
}

int surface_exclude_unlikely(lua_State* lua) {
  Surface& surface = checked_surface(lua, 1, "surface:exclude_unlikely");
  const ScriptState& state = state_of(lua);
  const std::size_t all = state.context.observations.size() + state.answers.size();
  charge(lua, kKnownCharge * static_cast<std::int64_t>(all) +
                  kUnlikelyCharge * static_cast<std::int64_t>(surface.size()));
  exclude_all_unlikely(state, surface);
  return 0;
}

int push_choice(lua_State* lua, const Surface& surface, std::optional<std::size_t> number) {
  if (!number) {
    lua_pushnil(lua);
    return 1;
  }
  return push_numbered(lua, surface, *number);
}

int surface_best(lua_State* lua) {
  const Surface& surface = checked_surface(lua, 1, "surface:best");
  const SurfaceChoice among = checked_choice(lua, 2, "surface:best");
  charge_look(lua, surface);
  const Goal& goal = state_of(lua).context.goal;
  return push_choice(lua, surface, best_setting(surface, checked_grid(lua), goal, among));
}

int surface_least_known(lua_State* lua) {
  const Surface& surface = checked_surface(lua, 1, "surface:least_known");
  const SurfaceChoice among = checked_choice(lua, 2, "surface:least_known");
  charge_look(lua, surface);
  const auto setting =
      least_known_setting(surface, checked_grid(lua), state_of(lua).context.goal, among);
  return push_choice(lua, surface, setting);
}

struct Front {
  std::array<std::size_t, kMostFront> numbers;
  std::size_t count = 0;
};

Front front_of(const Surface& surface, const SettingGrid& grid, const Goal& goal,
               const SurfaceChoice& among) noexcept {
  Front front;
  for (const std::size_t number : surface_front(surface, grid, goal, among, kMostFront)) {
    front.numbers[front.count++] = number;
  }
  return front;
}

int surface_front_list(lua_State* lua) {
  const Surface& surface = checked_surface(lua, 1, "surface:front");
  const SurfaceChoice among = checked_choice(lua, 2, "surface:front");
  charge(lua, 3 * kLookCharge * static_cast<std::int64_t>(surface.size()));
  const SettingGrid& grid = checked_grid(lua);
  const Front front = front_of(surface, grid, state_of(lua).context.goal, among);
  lua_createtable(lua, static_cast<int>(front.count), 0);
  for (std::size_t i = 0; i < front.count; ++i) {
    push_setting(lua, grid.setting(front.numbers[i]));
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  return 1;
}

constexpr luaL_Reg kMethods[] = {{"at", surface_at},
                                 {"best", surface_best},
                                 {"exclude", surface_exclude},
                                 {"exclude_known", surface_exclude_known},
                                 {"exclude_unlikely", surface_exclude_unlikely},
                                 {"front", surface_front_list},
                                 {"least_known", surface_least_known},
                                 {nullptr, nullptr}};

// The number that the choice at `index` names so; nullopt where it is absent, NaN where it is none.
std::optional<double> named_number(lua_State* lua, int index, const char* name) {
  lua_getfield(lua, index, name);
  if (lua_isnil(lua, -1)) return std::nullopt;
  return lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : NAN;
}

double deviations_option(lua_State* lua, int index, const char* what, const char* name) {
  const double value = named_number(lua, index, name).value_or(0);
  if (!(std::fabs(value) <= 100)) {
    luaL_error(lua, "%s: %s: expected a number from -100 to 100, got %s", what, name,
               shown(lua, -1));
  }
  lua_pop(lua, 1);
  return value;
}

double power_option(lua_State* lua, int index, const char* what, double otherwise) {
  const double value = named_number(lua, index, "power_w").value_or(otherwise);
  if (!(value > 0)) {
    luaL_error(lua, "%s: power_w: expected a number above 0, got %s", what, shown(lua, -1));
  }
  lua_pop(lua, 1);
  return value;
}

}  // namespace

void add_surfaces(lua_State* lua) {
  luaL_newmetatable(lua, kSurfaceHandle);
  lua_createtable(lua, 0, 6);
  luaL_setfuncs(lua, kMethods, 0);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, release);
  lua_setfield(lua, -2, "__gc");
  lua_pop(lua, 1);
}

const SettingGrid& checked_grid(lua_State* lua) {
  ScriptState& state = state_of(lua);
  if (state.grid == nullptr) {
    const auto& workloads = state.context.workloads;
    if (workloads[0] == nullptr && workloads[1] == nullptr) {
      luaL_error(lua, "no workload is attached: there are no settings to predict");
    }
    make_grid(state);
  }
  return *state.grid;
}

Surface& push_surface(lua_State* lua) {
  ScriptState& state = state_of(lua);
  const SettingGrid& grid = checked_grid(lua);
  charge(lua, kPredictCharge * static_cast<std::int64_t>(grid.size()));
  if (free_slot(state) == kMostSurfaces) {
    charge(lua, kCollectCharge);
    lua_gc(lua, LUA_GCCOLLECT);
  }
  const std::size_t slot = free_slot(state);
  if (slot == kMostSurfaces) {
    luaL_error(lua, "%d surfaces are in use, and no more can be; let one go (surface = nil)",
               static_cast<int>(kMostSurfaces));
  }
  auto* handle = static_cast<Handle*>(lua_newuserdatauv(lua, sizeof(Handle), 0));
  *handle = {};
  luaL_setmetatable(lua, kSurfaceHandle);
  handle->slot = slot;
  make_surface(state, slot);
  return *state.surfaces[slot];
}

Surface& checked_surface(lua_State* lua, int index, const char* what) {
  const auto* handle = static_cast<const Handle*>(luaL_testudata(lua, index, kSurfaceHandle));
  const std::size_t slot = handle == nullptr ? kMostSurfaces : handle->slot;
  if (slot >= kMostSurfaces) {
    luaL_error(lua, "%s: expected a surface, got %s; call it with a colon, surface:best()", what,
               luaL_typename(lua, index));
  }
  return *state_of(lua).surfaces[slot];
}

void push_prediction(lua_State* lua, const RooflinePrediction& prediction, double batch_size) {
  const double minibatch_ms = std::exp(prediction.log_time);
  const double power_w = std::exp(prediction.log_power);
  const Goal& goal = state_of(lua).context.goal;
  const double value =
      goal.value(checked_grid(lua).kind(), batch_size, minibatch_ms / 1e3, power_w);
  luaL_checkstack(lua, 2, "prediction");
  lua_createtable(lua, 0, 5);
  const auto set = [lua](const char* name, double number) {
    lua_pushnumber(lua, number);
    lua_setfield(lua, -2, name);
  };
  set("minibatch_ms", minibatch_ms);
  set("power_w", power_w);
  set("time_deviation", prediction.time_deviation);
  set("power_deviation", prediction.power_deviation);
  set("value", value);
}

int push_numbered(lua_State* lua, const Surface& surface, std::size_t number) {
  const SettingGrid& grid = checked_grid(lua);
  push_setting(lua, grid.setting(number));
  push_prediction(lua, prediction_of(surface, number), grid.batch_size(number));
  return 2;
}

SurfaceChoice checked_choice(lua_State* lua, int index, const char* what) {
  SurfaceChoice choice;
  const std::optional<std::int64_t>& cap_mw = state_of(lua).context.goal.power_mw;
  if (cap_mw) choice.power_w = static_cast<double>(*cap_mw) / 1e3;
  if (lua_isnoneornil(lua, index)) return choice;
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected a table of options, {power_w = 20}, got %s", what,
               luaL_typename(lua, index));
  }
  check_terms(lua, index, what, {"deviations", "power_w", "time_deviations"});
  choice.power_w = power_option(lua, index, what, choice.power_w);
  choice.deviations = deviations_option(lua, index, what, "deviations");
  choice.time_deviations = deviations_option(lua, index, what, "time_deviations");
  return choice;
}

Setting checked_setting(lua_State* lua, int index, const char* what) {
  SettingFields fields;
  copy_fields(lua, index, what, fields);
  ScriptState& state = state_of(lua);
  Setting setting;
  if (!read_setting(fields, state.context, setting, state.error)) {
    lua_pushlstring(lua, state.error.bytes.data(), state.error.length);
    luaL_error(lua, "%s: %s", what, lua_tostring(lua, -1));
  }
  return setting;
}

}  // namespace gearshift
