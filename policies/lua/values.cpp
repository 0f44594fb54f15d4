#include "policies/lua/values.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <lua.hpp>
#include <string_view>

#include "controller/knob.h"
#include "policies/lua/goal_fields.h"
#include "policies/lua/script_state.h"
#include "policies/lua/set_fields.h"
#include "policies/lua/terms.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"

namespace gearshift {
namespace {

// What looking at one entry takes, in instructions: it is a new table each time. Less than it would
// be by the clock (100, 800 and 150), so that a script may look at all of them; docs/policies.md
// has what a script that does nothing else then takes.
constexpr std::int64_t kModeCharge = 25;
constexpr std::int64_t kObservationCharge = 60;
constexpr std::int64_t kPriorCharge = 40;

void push_mode_of(lua_State* lua, const KnobSpace& space, const PowerMode& mode, int more_fields) {
  lua_createtable(lua, 0, static_cast<int>(space.size()) + more_fields);
  for (std::size_t i = 0; i < space.size(); ++i) {
    push_text(lua, space.knobs[i].name);
    push_scaled(lua, mode.values[i], space.knobs[i].unit);
    lua_rawset(lua, -3);
  }
}

void push_mode(lua_State* lua, const PowerMode& mode, int more_fields) {
  push_mode_of(lua, *state_of(lua).context.knobs, mode, more_fields);
}

// `known`: the observation is complete and the kind ran; all else costs for ever.
void set_cost(lua_State* lua, const Observation& answer, Kind kind, bool known) {
  const Cost& cost = answer.cost[index(kind)];
  set_number(lua, "minibatch_ms", known ? milliseconds(cost.minibatch_mean) : kHuge);
  set_number(lua, "minibatch_ms_stddev", known ? milliseconds(cost.minibatch_stddev) : kHuge);
  set_number(lua, "minibatch_ms_p99", known ? milliseconds(cost.minibatch_p99) : kHuge);
  set_number(lua, "fetch_stall_ms", known ? milliseconds(cost.fetch_stall_mean) : kHuge);
  set_number(lua, "compute_ms", known ? milliseconds(cost.compute_mean) : kHuge);
  set_number(lua, "sample_ms", known ? 1e3 * answer.sample_s(kind) : kHuge);
  const double energy_j = answer.energy_j(state_of(lua).context.goal, kind);
  set_number(lua, "energy_j", known ? energy_j : kHuge);
  set_integer(lua, "count", cost.minibatches);
}

bool measured(const Observation& answer, Kind kind) {
  return answer.ok() && answer.cost[index(kind)].minibatches > 0;
}

// Also before it was cut short because requests were late.
bool seen(const Observation& answer, Kind kind) {
  const bool cut = answer.outcome == Outcome::late;
  return (answer.ok() || cut) && answer.cost[index(kind)].minibatches > 0;
}

// Neither measured nor cut short by a limit: it says nothing of what the setting costs. More than
// Observation::failed(), which is of what may be gone another time: power may not have been read.
bool failed(const Observation& answer) {
  return !answer.ok() && answer.outcome != Outcome::over_limit && answer.outcome != Outcome::late;
}

double watts_or_huge(bool known, std::int64_t power_mw) {
  return known ? static_cast<double>(power_mw) / 1e3 : kHuge;
}

// The handles are empty userdata; their metatables differ, and what they show is in the state.
int modes_length(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(state_of(lua).context.modes.size()));
  return 1;
}

int modes_item(lua_State* lua) {
  const auto modes = state_of(lua).context.modes;
  const lua_Integer i = place_at(lua, 2);
  if (i < 1 || static_cast<lua_Unsigned>(i) > modes.size()) return 0;
  charge(lua, kModeCharge);
  push_mode(lua, modes[static_cast<std::size_t>(i - 1)], 0);
  return 1;
}

int observations_length(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(state_of(lua).context.observations.size()));
  return 1;
}

// One that a newer observation overrules says what was measured, but keeps no goal any more.
int observations_item(lua_State* lua) {
  const ScriptState& state = state_of(lua);
  const auto observations = state.context.observations;
  const lua_Integer i = place_at(lua, 2);
  if (i < 1 || static_cast<lua_Unsigned>(i) > observations.size()) return 0;
  charge(lua, kObservationCharge);
  const auto position = static_cast<std::size_t>(i - 1);
  push_answer(lua, observations[position]);
  if (state.overruled[position]) {
    set_flag(lua, "within", false);
  }
  return 1;
}

std::size_t count_prior_rows(const PolicyContext& context) {
  std::size_t count = 0;
  for (const Profile* profile : context.prior) count += profile->cells().size();
  return count;
}

int prior_length(lua_State* lua) {
  lua_pushinteger(lua, static_cast<lua_Integer>(count_prior_rows(state_of(lua).context)));
  return 1;
}

void push_prior_row(lua_State* lua, const Profile& profile, const ProfileCell& cell) {
  luaL_checkstack(lua, 4, "prior");
  lua_createtable(lua, 0, 7);
  set_text(lua, "device", profile.device);
  set_text(lua, "workload", profile.workload);
  set_text(lua, "kind", kind_name(profile.kind));
  push_mode_of(lua, profile.knobs(), cell.mode, 0);
  lua_setfield(lua, -2, "mode");
  set_integer(lua, "batch_size", cell.batch_size);
  set_number(lua, "minibatch_ms", cell.minibatch_ms);
  set_number(lua, "power_w", cell.power_w);
}

int prior_item(lua_State* lua) {
  const PolicyContext& context = state_of(lua).context;
  const lua_Integer i = place_at(lua, 2);
  if (i < 1 || static_cast<lua_Unsigned>(i) > count_prior_rows(context)) return 0;
  charge(lua, kPriorCharge);
  auto row = static_cast<std::size_t>(i - 1);
  for (const Profile* profile : context.prior) {
    if (row < profile->cells().size()) {
      push_prior_row(lua, *profile, profile->cells()[row]);
      return 1;
    }
    row -= profile->cells().size();
  }
  return 0;
}

int refuse_write(lua_State* lua) {
  return luaL_error(lua, "modes, observations and prior are read-only; copy what should change");
}

void add_handle(lua_State* lua, const char* name, lua_CFunction length, lua_CFunction item) {
  lua_newuserdatauv(lua, 0, 0);
  lua_createtable(lua, 0, 3);
  lua_pushcfunction(lua, length);
  lua_setfield(lua, -2, "__len");
  lua_pushcfunction(lua, item);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_write);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_setfield(lua, -2, name);
}

void add_knobs(lua_State* lua, const KnobSpace& space) {
  lua_createtable(lua, 0, static_cast<int>(space.size()) + 1);
  lua_createtable(lua, static_cast<int>(space.size()), 0);
  for (std::size_t i = 0; i < space.size(); ++i) {
    push_text(lua, space.knobs[i].name);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  lua_setfield(lua, -2, "names");
  for (const Knob& knob : space.knobs) {
    push_text(lua, knob.name);
    lua_createtable(lua, static_cast<int>(knob.values.size()), 0);
    for (std::size_t i = 0; i < knob.values.size(); ++i) {
      push_scaled(lua, knob.values[i], knob.unit);
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
    }
    lua_rawset(lua, -3);
  }
  lua_setfield(lua, -2, "knobs");
}

void push_batch_sizes(lua_State* lua, const Workload& workload) {
  lua_newtable(lua);
  for (std::size_t i = 0; i < workload.batch_size_count; ++i) {
    lua_pushinteger(lua, workload.batch_sizes[i]);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i + 1));
  }
  if (workload.batch_size_count == 0) {
    lua_pushinteger(lua, workload.batch_size);
    lua_rawseti(lua, -2, 1);
  }
}

void add_workloads(lua_State* lua, const PolicyContext& context) {
  lua_createtable(lua, 0, kKinds);  // batch_sizes
  lua_createtable(lua, 0, kKinds);  // workload
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Workload* workload = context.workloads[index(kind)];
    if (workload == nullptr) continue;
    push_text(lua, kind_name(kind));
    lua_createtable(lua, 0, 3);
    set_text(lua, "name", workload->name.view());
    set_integer(lua, "batch_size", workload->batch_size);
    set_integer(lua, "samples_per_epoch", workload->samples_per_epoch);
    lua_rawset(lua, -3);
    push_text(lua, kind_name(kind));
    push_batch_sizes(lua, *workload);
    lua_rawset(lua, -4);
  }
  lua_setfield(lua, -3, "workload");
  lua_setfield(lua, -2, "batch_sizes");
}

// The list of what a search may vary: every knob, and the batch size of the kind it measures where
// there is more than one. Shares its lists of values with the tables knobs and batch_sizes.
void add_dimensions(lua_State* lua, const PolicyContext& context) {
  const auto add = [lua](const char* values_of, std::string_view entry, std::string_view name) {
    lua_createtable(lua, 0, 2);
    set_text(lua, "name", name);
    lua_getfield(lua, -3, values_of);
    push_text(lua, entry);
    lua_rawget(lua, -2);
    lua_setfield(lua, -3, "values");
    lua_pop(lua, 1);
    lua_rawseti(lua, -2, static_cast<lua_Integer>(lua_rawlen(lua, -2)) + 1);
  };
  lua_createtable(lua, static_cast<int>(context.knobs->size()) + 1, 0);
  lua_pushvalue(lua, -2);
  lua_insert(lua, -2);  // library, library, dimensions: entries read their values from the library
  for (const Knob& knob : context.knobs->knobs) add("knobs", knob.name, knob.name);
  const bool trains = context.workloads[index(Kind::train)] != nullptr;
  // Beside training that is to be most, and for least latency, the batch of requests is chosen.
  const bool throughput = context.workloads[index(Kind::infer)] != nullptr &&
                          context.goal.objective == Objective::throughput &&
                          context.goal.arrivals_per_s > 0;
  const bool beside = throughput || context.latency_counts();
  const Kind kind = trains && !beside ? Kind::train : Kind::infer;
  const Workload* workload = context.workloads[index(kind)];
  if (workload != nullptr && workload->batch_size_count > 1) {
    add("batch_sizes", kind_name(kind), kind == Kind::train ? "train_batch" : "infer_batch");
  }
  lua_setfield(lua, -2, "dimensions");
  lua_pop(lua, 1);
}

void copy_field(lua_State* lua, SettingField& field) {
  // lua_next must see keys as they are: lua_tostring would turn a number into a string in place.
  std::size_t length = 0;
  if (lua_type(lua, -2) == LUA_TSTRING) {
    const char* name = lua_tolstring(lua, -2, &length);
    field.name = BoundedText<32>({name, length});
  } else if (lua_type(lua, -2) == LUA_TNUMBER) {
    std::array<char, 32> place;
    std::snprintf(place.data(), place.size(), "[%.10g]", lua_tonumber(lua, -2));
    field.name = BoundedText<32>(place.data());
  } else {
    field.name = BoundedText<32>(luaL_typename(lua, -2));
  }
  field.is_number = lua_type(lua, -1) == LUA_TNUMBER;
  field.is_text = lua_type(lua, -1) == LUA_TSTRING;
  if (field.is_number) {
    field.number = lua_tonumber(lua, -1);
  } else if (field.is_text) {
    const char* text = lua_tolstring(lua, -1, &length);
    field.text = BoundedText<16>({text, length});
  } else {
    field.text = BoundedText<16>(luaL_typename(lua, -1));
  }
}

}  // namespace

void add_values(lua_State* lua) {
  const PolicyContext& context = state_of(lua).context;
  push_goal(lua, context.goal);
  lua_setfield(lua, -2, "goal");
  add_knobs(lua, *context.knobs);
  add_workloads(lua, context);
  add_dimensions(lua, context);
  add_handle(lua, "modes", modes_length, modes_item);
  add_handle(lua, "observations", observations_length, observations_item);
  add_handle(lua, "prior", prior_length, prior_item);
  const std::string_view path = state_of(lua).name;
  set_text(lua, "script", path.substr(path.find_last_of('/') + 1));
  push_mode(lua, context.safe, 0);
  lua_setfield(lua, -2, "safe");
  lua_pushinteger(lua, static_cast<lua_Integer>(context.seed));
  lua_setfield(lua, -2, "seed");
}

void push_setting(lua_State* lua, const Setting& setting) {
  push_mode(lua, setting.mode, 3);
  const auto train = setting.batch_size[index(Kind::train)];
  const auto infer = setting.batch_size[index(Kind::infer)];
  if (train > 0) set_integer(lua, "train_batch", train);
  if (infer > 0) set_integer(lua, "infer_batch", infer);
  set_text(lua, "run", run_name(setting.run));
}

void push_answer(lua_State* lua, const Observation& answer) {
  const PolicyContext& context = state_of(lua).context;
  const Run run = answer.setting.run;
  const bool infers = run == Run::infer || (run == Run::both && context.latency_counts());
  const Kind kind = infers ? Kind::infer : Kind::train;
  const bool ok = answer.ok();
  const bool known = measured(answer, kind);
  luaL_checkstack(lua, 6, "answer");
  lua_createtable(lua, 0, 28);
  set_flag(lua, "ok", ok);
  set_text(lua, "reason", outcome_name(answer.outcome));
  set_flag(lua, "failed", failed(answer));
  set_flag(lua, "within", answer.keeps(context.goal));
  push_setting(lua, answer.setting);
  lua_setfield(lua, -2, "setting");
  set_number(lua, "power_w", watts_or_huge(ok, answer.power_mean_mw));
  set_number(lua, "power_max_w", watts_or_huge(ok, answer.power_max_mw));
  set_number(lua, "power_margin_w", watts_or_huge(ok, answer.power_margin_mw));
  set_number(lua, "limit_w", watts_or_huge(answer.limit_mw > 0, answer.limit_mw));
  const bool read = answer.outcome == Outcome::over_limit && answer.power_mean_mw > 0;
  set_number(lua, "cut_at_w", watts_or_huge(read, answer.power_mean_mw));
  set_number(lua, "slower_than_ms", slower_than_ms(answer, context.goal));
  set_number(lua, "duration_s", seconds(answer.duration));
  const bool trained_epoch = ok && answer.job.state != JobState::none;
  set_number(lua, "value", known || trained_epoch ? answer.value(context.goal) : kHuge);
  set_text(lua, "job", job_state_name(answer.job.state));
  set_integer(lua, "epochs", answer.job.epochs);
  set_number(lua, "epoch_s", trained_epoch ? seconds(answer.job.epoch) : kHuge);
  const double latency_s = answer.latency_s(context.goal.arrivals_per_s);
  set_number(lua, "latency_ms", measured(answer, Kind::infer) ? 1e3 * latency_s : kHuge);
  set_cost(lua, answer, kind, known);
  for (const Kind one : {Kind::train, Kind::infer}) {
    lua_createtable(lua, 0, 8);
    set_cost(lua, answer, one, seen(answer, one));
    lua_setfield(lua, -2, kind_name(one).data());
  }
}

void copy_fields(lua_State* lua, int index, const char* what, SettingFields& fields) {
  if (lua_type(lua, index) != LUA_TTABLE) {
    luaL_error(lua, "%s: expected a setting (a table), got %s", what, luaL_typename(lua, index));
  }
  const int table = lua_absindex(lua, index);
  lua_pushnil(lua);
  while (lua_next(lua, table) != 0) {
    if (fields.count < kMaxSettingFields) copy_field(lua, fields.fields[fields.count]);
    ++fields.count;
    lua_pop(lua, 1);
  }
}

}  // namespace gearshift
