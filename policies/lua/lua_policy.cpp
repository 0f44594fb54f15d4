#include "policies/lua/lua_policy.h"

#include <algorithm>
#include <utility>

#include "policies/lua/script.h"

namespace gearshift {

LuaPolicy::LuaPolicy(std::string name, std::string text, std::optional<BoardModel> board,
                     const ModeTransfer* transfer, LuaLimits limits)
    : name_(std::move(name)),
      text_(std::move(text)),
      board_(std::move(board)),
      transfer_(transfer),
      limits_(limits) {}

LuaPolicy::~LuaPolicy() = default;

void LuaPolicy::check() const {
  const KnobSpace no_knobs;
  PolicyContext context;
  context.knobs = &no_knobs;
  LogLines no_log;
  const Script script({name_, text_}, limits_, context, models(), no_log);
  if (!script.failure().empty()) throw PolicyError(script.failure());
}

Request LuaPolicy::start(const PolicyContext& context) {
  failure_.clear();
  script_ = std::make_unique<Script>(ScriptText{name_, text_}, limits_, context, models(), log_);
  return settle(script_->begin());
}

Request LuaPolicy::resume(const Observation& answer) {
  if (script_ == nullptr) {
    if (failure_.empty()) failure_ = name_ + ": an answer came, but the script has asked nothing";
    return {Request::What::failed, {}};
  }
  return settle(script_->resume(answer));
}

Request LuaPolicy::replace(std::string_view text, const PolicyContext& context) {
  const bool nobody = std::all_of(context.workloads.begin(), context.workloads.end(),
                                  [](const Workload* workload) { return workload == nullptr; });
  if (nobody) {
    LuaPolicy(name_, std::string(text)).check();
    text_ = std::string(text);
    failure_.clear();
    script_.reset();
    return {Request::What::hold_safe, {}};
  }
  auto script = std::make_unique<Script>(ScriptText{name_, text}, limits_, context, models(), log_);
  const Request request = script->begin();
  if (request.what == Request::What::failed) throw PolicyError(script->failure());
  text_ = std::string(text);
  failure_.clear();
  script_ = std::move(script);
  return settle(request);
}

Request LuaPolicy::settle(const Request& request) {
  if (request.what == Request::What::failed) failure_ = script_->failure();
  if (request.what != Request::What::measure && request.what != Request::What::remeasure) {
    script_.reset();
  }
  return request;
}

}  // namespace gearshift
