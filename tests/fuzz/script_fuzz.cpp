// Runs any bytes as a policy script with small limits: whatever they are, every request must be fit
// for the board, memory must keep its cap, and a script that failed must say where.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "boards/board_model.h"
#include "policies/lua/script.h"
#include "tests/policies/policy_problem.h"

namespace {

using gearshift::Request;

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gearshift::PolicyProblem problem;
  gearshift::LuaLimits limits;
  limits.memory_bytes = 200'000;
  limits.instructions_per_answer = 50'000;
  gearshift::LogLines log;
  static const auto board = gearshift::built_in_board_model("jetson-agx-orin");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gearshift::Script script({"fuzz.lua", text}, limits, problem.context(), {&*board}, log);
  Request request = script.begin();
  for (int i = 0; i < 64; ++i) {
    if (request.what == Request::What::hold_safe) break;
    if (request.what == Request::What::failed) {
      check(script.failure().rfind("fuzz.lua:", 0) == 0 && script.failure().size() < 4096);
      break;
    }
    check(problem.knobs.contains(request.setting.mode));
    check(request.setting.batch_size[0] > 0 && request.setting.batch_size[1] == 0);
    check(request.setting.run == gearshift::Run::train);
    if (request.what == Request::What::hold) break;
    // Answers of every kind: measured, from memory, cut short.
    gearshift::Observation answer = gearshift::complete(request.setting, 10 + i, 20 + i);
    if (i % 5 == 4) answer = gearshift::cut_short(request.setting, gearshift::Outcome::over_limit);
    answer.from_memory = i % 3 == 2;
    request = script.resume(answer);
  }
  check(script.peak_bytes() <= limits.memory_bytes);
  while (!log.take().empty()) continue;
  return 0;
}
