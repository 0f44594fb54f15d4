// A policy whose decisions are a Lua script's: a coroutine that asks and is answered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "boards/board_model.h"
#include "controller/policy.h"
#include "policies/lua/log_lines.h"
#include "policies/lua/lua_limits.h"
#include "policies/lua/script_models.h"

namespace gearshift {

class ModeTransfer;
class Script;

// Deterministic: equal text, context and answers make equal requests, whatever ran before.
class LuaPolicy : public Policy {
 public:
  // `name` is the file's name, shown in errors and part of the seed: without folders, but in
  // recordings that were made with them. Runs nothing yet, and does not look at `text`: start says
  // if it is no script. `board` is what scripts' models are of: the board that the policy runs on,
  // nullopt where it is not known or has no model.
  // `transfer` outlives the policy; null where scripts have no networks.
  LuaPolicy(std::string name, std::string text, std::optional<BoardModel> board = std::nullopt,
            const ModeTransfer* transfer = nullptr, LuaLimits limits = {});
  ~LuaPolicy() override;

  // Compiles the text and runs none of it. Throws PolicyError with file and line.
  void check() const;
  Request start(const PolicyContext& context) override;
  // After a request other than measure and remeasure there is nothing to answer: fails.
  Request resume(const Observation& answer) override;
  Request replace(std::string_view text, const PolicyContext& context) override;
  std::string_view failure() const override { return failure_; }
  std::string take_log() override { return log_.take(); }

 private:
  ScriptModels models() const { return {board_ ? &*board_ : nullptr, transfer_}; }
  // Notes how a run ended; one that will not be resumed gives its memory back.
  Request settle(const Request& request);

  std::string name_;
  std::string text_;
  std::optional<BoardModel> board_;
  const ModeTransfer* transfer_;
  LuaLimits limits_;
  LogLines log_;
  std::unique_ptr<Script> script_;
  std::string failure_;
};

}  // namespace gearshift
