// Teaches the Lua table gp any answers and asks it under any terms: it may refuse them by name,
// and whatever it takes, what it proposes next must have odds that are odds and costs that are
// numbers.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "boards/board_model.h"
#include "policies/lua/script.h"
#include "tests/policies/orin_problem.h"

namespace {

using gearshift::Request;

constexpr std::size_t kMostSteps = 24;

// Bytes as they come; zeros where there are no more.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  // A Lua expression. One in four is any double at all; the others are within sight of a board's.
  std::string number() {
    const std::uint8_t kind = byte();
    if (kind % 4 != 0) return std::to_string(1 + (kind >> 2) + byte() / 16.0);
    double value = 0;
    std::uint8_t raw[sizeof value];
    for (std::uint8_t& one : raw) one = byte();
    std::memcpy(&value, raw, sizeof value);
    if (value != value) return "0 / 0";
    if (value - value != 0) return value > 0 ? "math.huge" : "-math.huge";
    char text[48];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

std::string learn(Bytes& bytes) {
  const std::uint8_t mode = bytes.byte();
  const std::uint8_t state = bytes.byte();
  std::string text = "gp.learn { setting = one(" + std::to_string(mode) + "), ok = ";
  text += state % 3 != 0 ? "true" : "false";
  text += state % 3 == 0 && state % 2 == 0 ? ", reason = 'over_limit'" : ", reason = 'complete'";
  for (const char* field :
       {"minibatch_ms", "power_w", "minibatch_ms_stddev", "count", "power_margin_w", "limit_w"}) {
    text += std::string(", ") + field + " = " + bytes.number();
  }
  return text + " }\n";
}

std::string ask(Bytes& bytes) {
  const std::uint8_t terms = bytes.byte();
  if (terms >= 224)
    return "check_drawn(gp.draw_smooth { over_odds = " + bytes.number() + " / 80 })\n";
  if (terms >= 192) {
    return "check_drawn(gp.draw { over_odds = " + bytes.number() +
           " / 80, temper = " + bytes.number() + " })\n";
  }
  std::string text = "check(gp.next {";
  const char* names[] = {"best", "price", "power_odds", "doubt", "safest", "busy_ms"};
  for (int i = 0; i < 6; ++i) {
    if ((terms >> i & 1) == 0) continue;
    // Odds are at most 1, and most numbers would be refused.
    const bool share = names[i] == std::string_view("power_odds") || i == 4;
    text += std::string(" ") + names[i] + " = " + bytes.number() + (share ? " / 80," : ",");
  }
  return text + " })\n";
}

constexpr std::string_view kBegin = R"(
local function one(number)
  local setting = {}
  for name, value in pairs(safe) do setting[name] = value end
  local values = { 422.4, 1036.8, 1651.2, 2201.6 }
  setting.cpu_mhz = values[number % 4 + 1]
  setting.gpu_mhz = ({ 318.75, 624.75, 930.75, 1300.5 })[number // 4 % 4 + 1]
  setting.cpu_cores = ({ 4, 8, 12, 5 })[number // 16 % 4 + 1]
  return setting
end
local function number(value) return value == value and value > -math.huge and value < math.huge end
local function check(probe)
  if not probe then return end
  assert(probe.odds >= 0 and probe.odds <= 1.001, "broken odds")
  assert(probe.power_odds >= 0 and probe.power_odds <= 1.001, "broken power odds")
  assert(number(probe.gain), "broken gain")
  assert(number(probe.minibatch_ms) and number(probe.power_w), "broken costs")
end
local function check_drawn(drawn)
  if not drawn then return end
  assert(drawn.odds >= 0 and drawn.odds <= 1.001, "broken odds")
  assert(drawn.power_odds >= 0 and drawn.power_odds <= 1.001, "broken power odds")
  assert(drawn.value >= 0 and number(drawn.expected) and number(drawn.deviation), "broken value")
end
)";

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto board = gearshift::built_in_board_model("jetson-agx-orin");
  Bytes bytes(data, size);
  const std::uint8_t problem_byte = bytes.byte();
  gearshift::OrinProblem problem(problem_byte % 2 == 0 ? gearshift::Kind::train
                                                       : gearshift::Kind::infer);
  for (std::size_t i = 0; i < 4; ++i) {
    if ((problem_byte >> (i + 4) & 1) != 0) problem.knobs.knobs[i].values.resize(2);
  }
  if (problem_byte % 4 < 2) problem.goal.power_mw = 20'000;
  std::string text(kBegin);
  for (std::size_t step = 0; step < kMostSteps && !bytes.empty(); ++step) {
    text += bytes.byte() % 3 == 0 ? ask(bytes) : learn(bytes);
  }
  gearshift::LogLines log;
  gearshift::LuaLimits limits;
  limits.instructions_per_answer = 20'000'000;
  const gearshift::PolicyContext context = problem.context();
  gearshift::Script script({"gp_fuzz.lua", text}, limits, context,
                           {problem_byte % 8 < 6 ? &*board : nullptr}, log);
  const Request request = script.begin();
  if (request.what == Request::What::failed) {
    check(script.failure().rfind("gp_fuzz.lua:", 0) == 0);
    check(script.failure().find("broken") == std::string::npos);
    // What it refuses, it names.
    check(script.failure().find(": gp.") != std::string::npos);
  }
  check(script.peak_bytes() <= limits.memory_bytes);
  return 0;
}
