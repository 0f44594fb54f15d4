// One run of a policy script: a Lua state of its own, and the coroutine in it that asks questions.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "controller/policy.h"
#include "policies/lua/log_lines.h"
#include "policies/lua/lua_limits.h"
#include "policies/lua/script_models.h"

struct lua_State;

namespace gearshift {

struct ScriptState;

struct ScriptText {
  std::string_view name;  // appears in errors
  std::string_view text;
};

class Script {
 public:
  // Compiles `source`, and runs none of it. Its name, `log` and what `context` and `models` point
  // to outlive the script.
  Script(const ScriptText& source, const LuaLimits& limits, const PolicyContext& context,
         const ScriptModels& models, LogLines& log);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Runs to the first request. A script that failed stays failed.
  Request begin();
  // Gives the answer to the last measure or remeasure and runs to the next request.
  Request resume(const Observation& answer);
  // The message and traceback of Request::What::failed.
  const std::string& failure() const { return failure_; }
  // The most bytes the Lua state has held.
  std::size_t peak_bytes() const;

 private:
  Request run(int arguments);
  Request fail(int status);

  std::string name_;
  std::unique_ptr<ScriptState> state_;
  lua_State* lua_ = nullptr;        // owned: closed by the destructor
  lua_State* coroutine_ = nullptr;  // owned by lua_
  std::string failure_;
};

}  // namespace gearshift
