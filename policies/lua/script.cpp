#include "policies/lua/script.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "policies/lua/gp_library.h"
#include "policies/lua/left_out.h"
#include "policies/lua/library.h"
#include "policies/lua/memory_library.h"
#include "policies/lua/numerics_library.h"
#include "policies/lua/pareto_library.h"
#include "policies/lua/posterior_library.h"
#include "policies/lua/predict_library.h"
#include "policies/lua/roofline_library.h"
#include "policies/lua/script_state.h"
#include "policies/lua/surface_library.h"
#include "policies/lua/traceback.h"
#include "policies/lua/values.h"

namespace gearshift {
namespace {

// How often the budget is looked at, in instructions. The slowest that a script can make takes 7
// ms: rehashing a table whose 2,048 keys all fall into one chain.
constexpr int kHookInstructions = 100;

struct Source {
  std::string_view text;
  const char* chunk_name;
  lua_State** coroutine;
};

// As Lua's own loader of files: without a byte order mark and without a first line for the shell,
// whose end stays, so that lines keep their numbers.
std::string_view without_preamble(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  if (!text.empty() && text[0] == '#') text.remove_prefix(std::min(text.find('\n'), text.size()));
  return text;
}

// Hands out a line at a time: where memory runs out, Lua does not say at which.
const char* read_source(lua_State* lua, void* source, std::size_t* length) {
  std::string_view& text = static_cast<Source*>(source)->text;
  const char* start = text.data();
  *length = text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1;
  text.remove_prefix(*length);
  if (*length > 0) ++state_of(lua).line;
  return start;
}

// Counts instructions, and keeps the line the script returns from: after that it has no frame.
void on_hook(lua_State* lua, lua_Debug* event) {
  if (event->event == LUA_HOOKCOUNT) {
    charge(lua, kHookInstructions);
    check_time(lua);
    return;
  }
  lua_Debug call;
  if (lua_getstack(lua, 2, &call) != 0 || lua_getstack(lua, 1, &call) == 0) return;
  lua_getinfo(lua, "l", event);
  state_of(lua).line = event->currentline;
}

int answered(lua_State* lua, int, lua_KContext) {
  charge(lua, 0);
  push_answer(lua, *state_of(lua).answer);
  return 1;
}

int ask(lua_State* lua, const char* verb, Request::What what) {
  SettingFields fields;
  copy_fields(lua, 1, verb, fields);
  ScriptState& state = state_of(lua);
  state.request.what = what;
  if (!read_setting(fields, state.context, state.request.setting, state.error)) {
    lua_pushlstring(lua, state.error.bytes.data(), state.error.length);
    return luaL_error(lua, "%s: %s", verb, lua_tostring(lua, -1));
  }
  return lua_yieldk(lua, 0, 0, answered);
}

int measure(lua_State* lua) { return ask(lua, "measure", Request::What::measure); }

int remeasure(lua_State* lua) { return ask(lua, "remeasure", Request::What::remeasure); }

int log_line(lua_State* lua) {
  std::size_t length = 0;
  const char* text = luaL_checklstring(lua, 1, &length);
  state_of(lua).log.add({text, length});
  return 0;
}

// What the script returned is its choice.
int returned(lua_State* lua, int, lua_KContext) {
  ScriptState& state = state_of(lua);
  state.request.what = Request::What::hold_safe;
  if (lua_isnil(lua, -1)) return 0;
  state.request.what = Request::What::hold;
  SettingFields fields;
  copy_fields(lua, -1, "the returned setting", fields);
  if (!read_setting(fields, state.context, state.request.setting, state.error)) {
    lua_pushlstring(lua, state.error.bytes.data(), state.error.length);
    return luaL_error(lua, "the returned setting: %s", lua_tostring(lua, -1));
  }
  return 0;
}

// The body of the coroutine: calls the script, which is its argument.
int run_script(lua_State* lua) {
  lua_callk(lua, 0, 1, 0, returned);
  return returned(lua, LUA_OK, 0);
}

// Everything that can fail for want of memory while a state is built, as one protected call.
int build(lua_State* lua) {
  Source& source = *static_cast<Source*>(lua_touserdata(lua, 1));
  push_library(lua);
  add_numerics(lua);
  add_posterior(lua);
  add_pareto(lua);
  add_predict(lua);
  add_roofline(lua);
  add_surfaces(lua);
  add_gp(lua);
  add_values(lua);
  add_memory(lua);
  lua_pushcfunction(lua, measure);
  lua_setfield(lua, -2, "measure");
  lua_pushcfunction(lua, remeasure);
  lua_setfield(lua, -2, "remeasure");
  lua_pushcfunction(lua, log_line);
  lua_setfield(lua, -2, "log");
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);

  lua_State* coroutine = lua_newthread(lua);
  lua_rawsetp(lua, LUA_REGISTRYINDEX, coroutine);
  *source.coroutine = coroutine;
  lua_pushcfunction(coroutine, run_script);
  if (lua_load(coroutine, read_source, &source, source.chunk_name, "t") != LUA_OK) {
    lua_xmove(coroutine, lua, 1);
    return lua_error(lua);
  }
  state_of(lua).line = 0;
  lua_sethook(coroutine, on_hook, LUA_MASKCOUNT | LUA_MASKRET, kHookInstructions);
  return 0;
}

// Lua shows at most 59 bytes of a chunk's name; the end of a path says more than its start.
std::string shown_name(std::string_view name) {
  constexpr std::size_t kShownBytes = LUA_IDSIZE - 1;
  if (name.size() <= kShownBytes) return std::string(name);
  return "..." + std::string(name.substr(name.size() - (kShownBytes - 3)));
}

// The text of an error value, without converting it: that could itself run out of Lua's memory.
std::string error_text(lua_State* lua) {
  if (lua_type(lua, -1) == LUA_TNUMBER) {
    std::array<char, 32> number;
    std::snprintf(number.data(), number.size(), "%.14g", lua_tonumber(lua, -1));
    return std::string("the script raised the error ") + number.data();
  }
  if (lua_type(lua, -1) != LUA_TSTRING) {
    return std::string("the script raised an error that is not a string but a ") +
           luaL_typename(lua, -1);
  }
  std::size_t length = 0;
  const char* text = lua_tolstring(lua, -1, &length);
  return {text, length};
}

}  // namespace

Script::Script(const ScriptText& script, const LuaLimits& limits, const PolicyContext& context,
               const ScriptModels& models, LogLines& log)
    : name_(shown_name(script.name)),
      state_(std::make_unique<ScriptState>(script.name, limits, context, models, log)) {
  const std::string_view text = without_preamble(script.text);
  if (text.size() > limits.text_bytes) {
    failure_ = name_ + ":1: the script has " + std::to_string(text.size()) + " bytes; at most " +
               std::to_string(limits.text_bytes) + " can be run";
    return;
  }
  lua_ = lua_newstate(BoundedMemory::allocate, &state_->memory);
  if (lua_ == nullptr) {
    failure_ = name_ + ":1: no memory for a Lua state";
    return;
  }
  set_state(lua_, *state_);
  const std::string chunk_name = "@" + name_;
  Source source{text, chunk_name.c_str(), &coroutine_};
  lua_pushcfunction(lua_, build);
  lua_pushlightuserdata(lua_, &source);
  if (const int status = lua_pcall(lua_, 1, 0, 0); status != LUA_OK) {
    coroutine_ = lua_;
    fail(status);
  }
}

Script::~Script() {
  if (lua_ != nullptr) lua_close(lua_);
}

std::size_t Script::peak_bytes() const { return state_->memory.peak_bytes(); }

Request Script::begin() {
  if (!failure_.empty()) return {Request::What::failed, {}};
  state_->begin_thinking();
  return run(1);
}

Request Script::resume(const Observation& answer) {
  if (!failure_.empty()) return {Request::What::failed, {}};
  if (answer.from_memory) {
    state_->instructions_used += state_->limits.charge_per_memory_hit;
  } else {
    state_->instructions_used = 0;
    state_->begin_thinking();
    state_->answers.push_back(answer);
  }
  state_->memory.new_answer();
  state_->answer = &answer;
  return run(0);
}

Request Script::run(int arguments) {
  int results = 0;
  const int status = lua_resume(coroutine_, nullptr, arguments, &results);
  state_->answer = nullptr;
  if (status != LUA_OK && status != LUA_YIELD) return fail(status);
  return state_->request;
}

Request Script::fail(int status) {
  std::string message = error_text(coroutine_);
  if (status == LUA_ERRMEM) message += std::string(" (") + state_->memory.refusal() + ")";
  if (status == LUA_ERRRUN) message += left_out_hint(message);
  failure_ = traceback(coroutine_, name_, message, state_->line);
  return {Request::What::failed, {}};
}

}  // namespace gearshift
