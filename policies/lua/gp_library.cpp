#include "policies/lua/gp_library.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <lua.hpp>
#include <memory>
#include <optional>
#include <string_view>

#include "policies/lua/gp_learning.h"
#include "policies/lua/gp_search.h"
#include "policies/lua/memory_library.h"
#include "policies/lua/script_state.h"
#include "policies/lua/set_fields.h"
#include "policies/lua/terms.h"
#include "policies/lua/values.h"
#include "policies/numerics/elementary.h"
#include "policies/numerics/goal_judge.h"
#include "policies/numerics/interleaved_probe.h"
#include "policies/numerics/next_probe.h"

namespace gearshift {
namespace {

// In instructions, by what they take on the machines of docs/policies.md.
constexpr std::int64_t kChargeToBegin = 600'000;
constexpr std::int64_t kChargeToInterleave = 450'000;
constexpr std::int64_t kChargeToLearn = 200;
constexpr std::int64_t kChargeToAsk = 400'000;
constexpr std::int64_t kChargePerSetting = 30;
// A script that starts over may ask twice before it measures, beside inference three times.
constexpr std::int64_t kMostCharge = 500'000;
constexpr std::int64_t kMostInterleavedCharge = 450'000;

void push_error(lua_State* lua, const char* function, const ErrorText& error) {
  lua_pushlstring(lua, error.bytes.data(), error.length);
  luaL_error(lua, "%s: %s", function, lua_tostring(lua, -1));
}

// Makes what gp knows where this is its first use. False, with an error, where it cannot be.
bool begin(ScriptState& state) noexcept {
  if (state.gp) return true;
  const auto& workloads = state.context.workloads;
  if (workloads[0] == nullptr && workloads[1] == nullptr) {
    state.error = ErrorText("no workload is attached, so there is no cost to predict");
    return false;
  }
  try {
    state.gp = std::make_unique<GpSearch>(state.context, state.board);
  } catch (const std::exception& failure) {
    state.error = ErrorText(failure.what());
    return false;
  }
  return true;
}

void begin_or_raise(lua_State* lua, const char* function) {
  ScriptState& state = state_of(lua);
  if (!state.gp) charge(lua, interleaves(state.context) ? kChargeToInterleave : kChargeToBegin);
  if (!begin(state)) push_error(lua, function, state.error);
}

int learn(lua_State* lua) {
  LearntAnswer answer;
  copy_answer(lua, answer);
  begin_or_raise(lua, "gp.learn");
  ScriptState& state = state_of(lua);
  charge(lua, kChargeToLearn + (answer.late ? charge_to_know(state) : 0));
  const std::optional<bool> learnt = learn_answer(state, answer);
  if (!learnt) push_error(lua, "gp.learn", state.error);
  lua_pushboolean(lua, *learnt);
  return 1;
}

double option(lua_State* lua, const char* function, const char* name, double otherwise,
              double most) {
  if (lua_type(lua, 1) != LUA_TTABLE) return otherwise;
  lua_getfield(lua, 1, name);
  double value = otherwise;
  if (!lua_isnil(lua, -1)) {
    value = lua_type(lua, -1) == LUA_TNUMBER ? lua_tonumber(lua, -1) : NAN;
    if (!(value >= 0 && value <= most)) {
      luaL_error(lua, "%s: %s: expected a number from 0 to %f, got %s", function, name, most,
                 lua_type(lua, -1) == LUA_TNUMBER ? lua_tostring(lua, -1) : luaL_typename(lua, -1));
    }
  }
  lua_pop(lua, 1);
  return value;
}

void condition(GpSearch& gp) {
  if (!gp.conditioned && gp.interleaved) gp.interleaved->process.condition();
  if (!gp.conditioned && gp.process) gp.process->condition();
  gp.conditioned = true;
}

// What mean power must keep: an answer is within the limit only with its noise margin.
double limit_w(const GpSearch& gp, const Goal& goal) {
  if (!goal.power_mw) return kHuge;
  return static_cast<double>(*goal.power_mw) / 1e3 * (1 - gp.margin());
}

// What serves in the least time while training waits.
std::optional<Probe> choose_alone(GpSearch& gp, const Goal& goal, const ProbeTerms& terms) {
  GpSearch::Alone& alone = gp.serving_alone();
  if (!alone.conditioned) alone.process.condition();
  alone.conditioned = true;
  return next_probe(alone.process, goal, Kind::infer, gp.left_out(true), terms);
}

// False with an error where memory runs out.
bool choose(ScriptState& state, ProbeTerms terms, double best, double busy_ms, bool alone,
            std::optional<Probe>& probe) noexcept {
  GpSearch& gp = *state.gp;
  const Goal& goal = state.context.goal;
  terms.limit_w = limit_w(gp, goal);
  try {
    if (alone) {
      probe = choose_alone(gp, goal, terms);
      return true;
    }
    condition(gp);
    if (gp.interleaved) {
      InterleavedTerms both{.probe = terms};
      // A value is seconds a sample; infinite where no training minibatch has room.
      const double batch = static_cast<double>(gp.interleaved->train_grid.batch_sizes().front());
      if (best > 0) both.best_rate = std::isfinite(best) ? 1 / (best * batch) : 0;
      if (busy_ms > 0 && both.best_rate == 0) both.best_busy_ms = busy_ms;
      probe = interleaved_probe(gp.interleaved->process, goal, gp.left_out(false), both);
    } else {
      probe = next_probe(*gp.process, goal, gp.grid.kind(), gp.left_out(false), terms);
    }
  } catch (const std::exception& failure) {
    state.error = ErrorText(failure.what());
    return false;
  }
  return true;
}

std::int64_t charge_to_ask(const GpSearch& gp) {
  return std::min(gp.interleaved ? kMostInterleavedCharge : kMostCharge,
                  kChargeToAsk + kChargePerSetting * static_cast<std::int64_t>(gp.grid.size()));
}

// Whether the terms ask for what runs inference alone.
bool asks_alone(lua_State* lua) {
  if (lua_type(lua, 1) != LUA_TTABLE) return false;
  lua_getfield(lua, 1, "run");
  const bool given = !lua_isnil(lua, -1);
  if (given &&
      (lua_type(lua, -1) != LUA_TSTRING || lua_tostring(lua, -1) != run_name(Run::infer))) {
    luaL_error(lua, "gp.next: run: expected \"infer\" or nil");
  }
  lua_pop(lua, 1);
  return given;
}

int next(lua_State* lua) {
  check_terms(lua, 1, "gp.next",
              {"best", "busy_ms", "doubt", "most_over", "power_odds", "price", "run", "safest"});
  ProbeTerms terms;
  // 0: none.
  double best = 0;
  if (lua_type(lua, 1) == LUA_TTABLE) {
    lua_getfield(lua, 1, "best");
    const bool given = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
    if (given) best = option(lua, "gp.next", "best", kHuge, kHuge);
    if (given && !(best > 0)) {
      return luaL_error(lua, "gp.next: best: expected a value above 0, got 0");
    }
  }
  if (best > 0 && std::isfinite(best)) terms.best_log = std::log(best);
  terms.price = option(lua, "gp.next", "price", 0, 1e3);
  terms.least_odds = option(lua, "gp.next", "power_odds", 0, 1);
  terms.doubt = std::max(1e-3, option(lua, "gp.next", "doubt", 1, 1e3));
  if (lua_type(lua, 1) == LUA_TTABLE) {
    lua_getfield(lua, 1, "safest");
    const bool safest = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
    if (safest) terms.safest_odds = option(lua, "gp.next", "safest", 0, 1);
  }
  const double most_over = option(lua, "gp.next", "most_over", kHuge, kHuge);
  if (std::isfinite(most_over)) {
    terms.most_over = static_cast<std::size_t>(std::min(most_over, 1e9));
  }
  const double busy_ms = option(lua, "gp.next", "busy_ms", 0, 1e9);
  const bool alone = asks_alone(lua);
  begin_or_raise(lua, "gp.next");
  ScriptState& state = state_of(lua);
  if (alone && !state.gp->interleaved) {
    return luaL_error(lua, "gp.next: run: only where training beside inference is the goal");
  }
  charge(lua, charge_to_ask(*state.gp));
  std::optional<Probe> probe;
  if (!choose(state, terms, best, busy_ms, alone, probe)) push_error(lua, "gp.next", state.error);
  if (!probe) {
    lua_pushnil(lua);
    return 1;
  }
  lua_createtable(lua, 0, 8);
  Setting setting = state.gp->grid.setting(probe->setting);
  if (alone) setting.run = Run::infer;
  push_setting(lua, setting);
  lua_setfield(lua, -2, "setting");
  set_number(lua, "gain", probe->gain);
  set_number(lua, "power_odds", probe->power_odds);
  set_number(lua, "odds", probe->odds);
  set_number(lua, "minibatch_ms", probe->minibatch_ms);
  set_number(lua, "power_w", probe->power_w);
  set_number(lua, "time_deviation", probe->time_deviation);
  set_number(lua, "power_deviation", probe->power_deviation);
  return 1;
}

enum class World : std::uint8_t { process, smooth };

// False with an error where memory runs out.
bool draw_setting(ScriptState& state, DrawTerms terms, World from,
                  std::optional<DrawnSetting>& drawn) noexcept {
  GpSearch& gp = *state.gp;
  const Goal& goal = state.context.goal;
  terms.limit_w = limit_w(gp, goal);
  try {
    condition(gp);
    const std::vector<std::uint8_t> excluded = gp.left_out(false);
    std::vector<double> log_values;
    if (from == World::smooth) {
      const auto passed = passed_over(*gp.process, goal, gp.grid.kind(), excluded, terms);
      log_values = gp.smooth.draw(state.random, passed);
      if (log_values.empty()) return true;
      terms.log_values = log_values;
    }
    drawn = drawn_setting(*gp.process, goal, gp.grid.kind(), excluded, terms, state.random);
  } catch (const std::exception& failure) {
    state.error = ErrorText(failure.what());
    return false;
  }
  return true;
}

// `from`: which of the two worlds is drawn.
int push_drawn(lua_State* lua, const char* function, const DrawTerms& terms, World from) {
  begin_or_raise(lua, function);
  ScriptState& state = state_of(lua);
  if (state.gp->interleaved) {
    return luaL_error(lua, "%s: not where training beside inference is the goal; use gp.next",
                      function);
  }
  charge(lua, charge_to_ask(*state.gp));
  std::optional<DrawnSetting> drawn;
  if (!draw_setting(state, terms, from, drawn)) push_error(lua, function, state.error);
  if (!drawn) {
    lua_pushnil(lua);
    return 1;
  }
  lua_createtable(lua, 0, 6);
  push_setting(lua, state.gp->grid.setting(drawn->setting));
  lua_setfield(lua, -2, "setting");
  set_number(lua, "value", drawn->value);
  set_number(lua, "expected", drawn->expected);
  set_number(lua, "deviation", drawn->deviation);
  set_number(lua, "power_odds", drawn->power_odds);
  set_number(lua, "odds", drawn->odds);
  return 1;
}

int draw(lua_State* lua) {
  check_terms(lua, 1, "gp.draw", {"over_odds", "temper"});
  DrawTerms terms;
  terms.most_over_odds = option(lua, "gp.draw", "over_odds", 1, 1);
  terms.temper = option(lua, "gp.draw", "temper", 1, 1e3);
  return push_drawn(lua, "gp.draw", terms, World::process);
}

int draw_smooth(lua_State* lua) {
  check_terms(lua, 1, "gp.draw_smooth", {"expected", "over_odds"});
  DrawTerms terms;
  terms.most_over_odds = option(lua, "gp.draw_smooth", "over_odds", 1, 1);
  const double most_expected = option(lua, "gp.draw_smooth", "expected", kHuge, kHuge);
  terms.most_expected_log = std::log(most_expected);
  return push_drawn(lua, "gp.draw_smooth", terms, World::smooth);
}

}  // namespace

void add_gp(lua_State* lua) {
  lua_createtable(lua, 0, 4);
  lua_pushcfunction(lua, draw);
  lua_setfield(lua, -2, "draw");
  lua_pushcfunction(lua, draw_smooth);
  lua_setfield(lua, -2, "draw_smooth");
  lua_pushcfunction(lua, learn);
  lua_setfield(lua, -2, "learn");
  lua_pushcfunction(lua, next);
  lua_setfield(lua, -2, "next");
  lua_setfield(lua, -2, "gp");
}

}  // namespace gearshift
