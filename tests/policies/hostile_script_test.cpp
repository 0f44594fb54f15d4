// Scripts that loop, hog, lie or try to get out: each ends as failed (or harmlessly), names its
// line, stays within its memory, and leaves the policy usable.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/lua/script.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using What = Request::What;

struct HostileScript {
  const char* name;
  const char* text;
  const char* expected;  // part of the failure; "" where the script must come to a request
};

const HostileScript kScripts[] = {
    {"endless_loop", "while true do end", "hostile.lua:1: spent its 2000000 instructions"},
    {"goto_loop", "::again::\ngoto again", "hostile.lua:2: spent its"},
    {"loop_in_a_call", "local function f()\n  repeat until false\nend\nf()",
     "hostile.lua:4: in main chunk"},
    {"loop_in_pairs",
     "local t = {}\nfor i = 1, 2000 do t['k' .. i] = i end\n"
     "while true do for _ in pairs(t) do end end",
     "spent its"},
    {"swallowing_pcall", "while true do pcall(function() while true do end end) end",
     "hostile.lua:1: attempt to call a nil value (global 'pcall')"},
    {"swallowing_xpcall", "xpcall(error, function() error('again') end)", "global 'xpcall'"},
    {"error_in_tostring", "error(setmetatable({}, {__tostring = error}))", "'setmetatable'"},
    {"error_without_text", "error()", "not a string"},
    {"error_with_table", "error({})",
     "hostile.lua:1: the script raised an error that is not a string but a table"},
    {"error_with_number", "error(42)", "hostile.lua:1: the script raised the error 42"},
    {"term_unknown", "gp.next{zeal = 1, bets = 3}",
     "hostile.lua:1: gp.next: unknown term 'bets': the terms are best, busy_ms, doubt"},
    {"term_without_name", "gp.draw{3}", "gp.draw: terms have names, got a key that is a number"},
    {"strings_for_ever", "local t = {}\nwhile true do t[#t + 1] = 'text number ' .. #t end",
     "hostile.lua:2: not enough memory"},
    {"doubling_string", "local s = 'x'\nwhile true do s = s .. s end",
     "(a string longer than a script may make)"},
    {"tables_for_ever", "local t = {}\nwhile true do t = {t} end", "all the memory"},
    {"one_large_table", "local t = {}\nfor i = 1, 1e9 do t[i] = i end",
     "hostile.lua:2: not enough memory (a table"},
    {"garbage_at_the_edge",
     "local t = {}\nfor i = 1, 4000 do t[i] = {i, i, i, i, i, i} end\n"
     "while true do t[1] = {t[1][1]} end",
     "hostile.lua:"},
    {"concat_bomb", "local t = {}\nfor i = 1, 1000 do t[i] = 'xxxxxxxx' end\ntable.concat(t)",
     "hostile.lua:3: table.concat: the result is longer than 1024 bytes"},
    {"concat_for_ever",
     "table.concat({''}, '', 1, 1)\nlocal t = {}\n"
     "for i = 1, 4000 do t[i] = '' end\nwhile true do table.concat(t) end",
     "spent its"},
    {"repeat_bomb", "local s = ('x'):rep(1e9)", "attempt to call a nil value (method 'rep')"},
    {"pattern_bomb", "(('a'):sub(1)):find(('a?'):sub(1), 1)", "method 'find'"},
    {"match_bomb", "string.match('aaaa', '(.-)(.-)(.-)(.-)b')", "field 'match'"},
    {"deep_recursion", "local function f(n) return 1 + f(n + 1) end\nf(1)",
     "hostile.lua:1: not enough memory (a table or a call stack"},
    {"tail_calls_for_ever", "local function f() return f() end\nf()", "spent its"},
    {"many_arguments", "local function f(...) return f(1, ...) end\nf()",
     "hostile.lua:1: not enough"},
    {"unpack_bomb", "table.unpack({}, 1, 1e8)", "table.unpack: at most 64 values"},
    {"unpack_overflow", "table.unpack({}, math.mininteger, math.maxinteger)", "at most 64 values"},
    {"insert_at_the_front", "local t = {}\nwhile true do table.insert(t, 1, 1) end",
     "hostile.lua:2"},
    {"lying_comparator",
     "local t = {}\nfor i = 1, 1000 do t[i] = i end\n"
     "table.sort(t, function() return true end)\nreturn safe",
     ""},
    {"comparator_of_mixed_types", "table.sort({1, 'a', {}})", "hostile.lua:1: in main chunk"},
    {"finaliser", "setmetatable({}, {__gc = function() while true do end end})", "'setmetatable'"},
    {"closing_variable", "local x <close> = {}", "hostile.lua:1: variable 'x' got a non-closable"},
    {"format_width", "string.format('%99999d', 1)", "invalid conversion"},
    {"format_bomb",
     "string.format('%99s%99s%99s%99s%99s%99s%99s%99s%99s%99s%99s', 1, 2, 3, 4, 5, 6, "
     "7, 8, 9, 10, 11)",
     "string.format: the result is longer"},
    {"format_address", "string.format('%p', {})", "invalid conversion"},
    {"format_end", "string.format('%')", "invalid conversion"},
    {"format_missing", "string.format('%s%s', 1)", "bad argument #3"},
    {"input_output", "io.open('/etc/passwd')", "global 'io'"},
    {"operating_system", "os.execute('true')", "global 'os'"},
    {"debug_library", "debug.sethook()", "global 'debug'"},
    {"collector", "collectgarbage('stop')", "global 'collectgarbage'"},
    {"module", "require('os')", "global 'require'"},
    {"compiler", "load('return 1')()", "global 'load'"},
    {"coroutine_escape", "coroutine.wrap(function() end)()", "global 'coroutine'"},
    {"bytecode", "\x1bLua", "attempt to load a binary chunk"},
    {"syntax_error", "x = = 1", "hostile.lua:1: unexpected symbol"},
    {"insert_between", "table.insert({1, 2, 3}, 1.5, 9)",
     "hostile.lua:1: table.insert: the position has no integer representation"},
    {"insert_nowhere", "table.insert({1, 2, 3}, 0 / 0, 9)", "table.insert: the position has no"},
    {"remove_between", "table.remove({1, 2, 3}, 1.5)",
     "hostile.lua:1: table.remove: the position has no integer representation"},
    {"remove_nowhere", "table.remove({1, 2, 3}, 0 / 0)", "table.remove: the position has no"},
    {"number_in_a_base", "tonumber('10', 2)", "hostile.lua:1: tonumber: takes no base"},
    {"modes_written", "modes[1] = {}",
     "hostile.lua:1: modes, observations and prior are read-only"},
    {"observations_written", "observations[1] = {}", "read-only"},
    {"handles_as_tables", "table.insert(modes, 1)", "expected a table, got userdata"},
    {"list_that_is_nil", "for _, b in ipairs(batch_sizes.infer) do log(b) end",
     "hostile.lua:1: ipairs: expected a table, got nil"},
    {"list_that_is_nothing", "ipairs()", "hostile.lua:1: ipairs: expected a table, got no value"},
    {"list_that_is_a_string", "for _ in ipairs('a') do end",
     "ipairs: expected a table, got string"},
    {"odd_indexes",
     "log(tostring(modes[0]) .. tostring(modes[-1]) .. tostring(modes[1.5]) .. "
     "tostring(modes[math.maxinteger]) .. tostring(observations[0/0]))",
     ""},
    {"goal_changed",
     "goal.power_w = math.huge\nknobs.gpu_mhz[1] = 9999\nsafe.gpu_mhz = 9999\n"
     "return safe",
     "gpu_mhz: 9999 is not a value of this board"},
    {"library_changed", "math = nil\nstring = nil\nerror = nil\nmeasure = nil\nlog('x')\n", ""},
    {"setting_missing", "measure()", "measure: expected a setting (a table), got no value"},
    {"setting_number", "measure(7)", "got number"},
    {"setting_handle", "measure(modes)", "got userdata"},
    {"setting_empty", "measure{}", "cpu_cores is missing"},
    {"setting_between", "measure{cpu_cores = 8, gpu_mhz = 700}",
     "gpu_mhz: 700 is not a value of this board; the nearest are 624.75 and 1300.5 MHz"},
    {"setting_of_half_a_core", "measure{cpu_cores = 4.4, gpu_mhz = 306}",
     "cpu_cores: 4.4 is not a value of this board; the nearest are 4 and 8"},
    {"setting_too_low", "measure{cpu_cores = 1, gpu_mhz = 306}",
     "cpu_cores: 1 is not a value of "
     "this board; the lowest is 4"},
    {"setting_too_high", "measure{cpu_cores = 8, gpu_mhz = 1e30}", "the highest is 1300.5 MHz"},
    {"setting_not_a_number", "measure{cpu_cores = 0/0, gpu_mhz = 306}", "nan is not a value"},
    {"setting_infinite", "measure{cpu_cores = -math.huge, gpu_mhz = 306}", "-inf is not a value"},
    {"setting_text", "measure{cpu_cores = '8', gpu_mhz = 306}", "cpu_cores must be a number"},
    {"setting_nested", "measure{cpu_cores = {8}, gpu_mhz = 306}", "must be a number, got table"},
    {"setting_unknown", "measure{cpu_cores = 8, gpu_mhz = 306, gpu = 1, b = 2}",
     "unknown field 'b': a setting has cpu_cores, gpu_mhz, train_batch, infer_batch, run"},
    {"setting_list", "measure{8, 306}", "unknown field '[1]'"},
    {"setting_large", "local t = {}\nfor i = 1, 100 do t['f' .. i] = i end\nmeasure(t)",
     "hostile.lua:3: measure: too many fields (100; of an answer give its answer.setting)"},
    {"batch_odd", "measure{cpu_cores = 8, gpu_mhz = 306, train_batch = 24}",
     "train_batch: 24 is not a batch size of 'lenet'; choose one of 8 16 32 64"},
    {"batch_fraction", "measure{cpu_cores = 8, gpu_mhz = 306, train_batch = 8.5}",
     "train_batch: 8.5"},
    {"batch_of_nobody", "measure{cpu_cores = 8, gpu_mhz = 306, infer_batch = 1}",
     "infer_batch: no infer workload is attached"},
    {"run_of_nobody", "measure{cpu_cores = 8, gpu_mhz = 306, run = 'infer'}",
     "run: \"infer\" cannot run; attached here: train"},
    {"run_number", "measure{cpu_cores = 8, gpu_mhz = 306, run = 1}", "run: 1 cannot run"},
    {"returned_nonsense", "\nreturn 1", "hostile.lua:2: the returned setting: expected a setting"},
    {"returned_bad_setting", "if true then\n\n  return {cpu_cores = 3}\nend",
     "hostile.lua:3: the returned setting: cpu_cores: 3"},
    {"measured_for_ever_from_memory", "while true do measure(safe) end",
     "hostile.lua:1: spent its"},
    {"log_flood", "for i = 1, 1e5 do log(('x'):upper()) end\nreturn safe", ""},
    {"costly_instructions_on_arguments",
     "local function f(n, ...)\n  if n < 25 then return f(n + 1, table.unpack({}, 1, 64)) end\n"
     "  while true do local a = select('#', ...) end\nend\nf(1)",
     "spent its"},
    {"costly_instructions_on_a_deep_stack",
     "local function f(n, ...)\n  if n < 60 then return f(n + 1, n, ...) end\n"
     "  while true do local a = select('#', ...) end\nend\nf(1)",
     "spent its"},
    {"costly_instructions_on_strings",
     "local s = 'x'\nfor i = 1, 9 do s = s .. s end\nlocal a, b = s .. s, s .. s\n"
     "while a == b do a:upper(); a:byte(1, -1) end",
     "spent its"},
    {"costly_instructions_on_numbers",
     "while true do string.format('%99.99f%99.99f', 1e300, 1e-300) end", "spent its"},
    {"log_table", "log({})", "bad argument #1 to 'log'"},
    {"escape_codes", "error('\\27[2J\\7', 0)", "?[2J?"},
    {"escape_codes_of_two_bytes", "error('\\u{9b}2J\\u{e9}', 0)", "??2J\u00e9"},
};

// Answers everything from memory, which is what a script that never ends would like.
Request run_to_the_end(LuaPolicy& policy, const PolicyProblem& problem) {
  Request request = policy.start(problem.context());
  for (int i = 0; i < 100'000 && request.what == What::measure; ++i) {
    Observation answer = complete(request.setting, 9, 9);
    answer.from_memory = true;
    request = policy.resume(answer);
  }
  return request;
}

class HostileScripts : public testing::TestWithParam<HostileScript> {};

TEST_P(HostileScripts, EndAndLeaveTheHostUsable) {
  const HostileScript& script = GetParam();
  const PolicyProblem problem;
  LuaPolicy policy("hostile.lua", script.text);
  const Request request = run_to_the_end(policy, problem);
  if (*script.expected == '\0') {
    EXPECT_NE(request.what, What::failed) << policy.failure();
  } else {
    ASSERT_EQ(request.what, What::failed);
    const std::string failure(policy.failure());
    EXPECT_EQ(failure.rfind("hostile.lua:", 0), 0u) << failure;
    EXPECT_NE(failure.find(script.expected), std::string::npos) << failure;
    EXPECT_LT(failure.size(), 4096u);
  }
  EXPECT_EQ(policy.replace("return safe", problem.context()).what, What::hold);
}

TEST_P(HostileScripts, StayWithinTheirMemory) {
  const PolicyProblem problem;
  const PolicyContext context = problem.context();
  LogLines log;
  for (const std::size_t bytes :
       {std::size_t{20'000}, std::size_t{200'000}, std::size_t{1} << 20}) {
    LuaLimits limits;
    limits.memory_bytes = bytes;
    limits.instructions_per_answer = 100'000;
    Script script({"hostile.lua", GetParam().text}, limits, context, {}, log);
    script.begin();
    EXPECT_LE(script.peak_bytes(), bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, HostileScripts, testing::ValuesIn(kScripts),
                         [](const auto& one) { return std::string(one.param.name); });

// What one call does may take a thousand times what an instruction does.
struct CostlyCall {
  const char* name;
  const char* call;
  int often;  // may be done between two measurements
  int too_often;
};

const CostlyCall kCalls[] = {
    {"mode", "local a = modes[1]", 50'000, 100'000},
    {"observation", "local a = observations[1]", 25'000, 40'000},
    {"prior", "local a = prior[1]", 30'000, 60'000},
    {"tostring", "tostring(1 / 3)", 40'000, 80'000},
    {"concat", "table.concat({1 / 3, 1 / 7, 1 / 9})", 10'000, 30'000},
    {"row", "row = row or {{1, 2, 3, 4, 5, 6, 7, 8}}; numerics.least_squares(row, {1})", 16'000,
     22'000},
};

TEST(HostileScript, PaysForWhatACallTakes) {
  PolicyProblem problem;
  problem.observations = {complete({problem.modes[0], {16, 0}, Run::train}, 80, 25)};
  Profile table({problem.knobs});
  ProfileCell cell;
  cell.mode = problem.modes[0];
  cell.batch_size = 16;
  cell.minibatch_ms = 80;
  cell.power_w = 25;
  table.add(cell);
  const Profile* const tables[] = {&table};
  PolicyContext context = problem.context();
  context.prior = tables;
  const auto end_of = [&](const CostlyCall& call, int times) {
    LuaPolicy policy("calls.lua", "for i = 1, " + std::to_string(times) + " do " + call.call +
                                      " end\nreturn safe");
    policy.start(context);
    return std::string(policy.failure());
  };
  for (const CostlyCall& call : kCalls) {
    EXPECT_EQ(end_of(call, call.often), "") << call.name;
    EXPECT_NE(end_of(call, call.too_often).find("spent its"), std::string::npos) << call.name;
  }
}

// Says at one of its looks that a script has thought too long.
struct CountedLooks final : ThinkTime {
  void begin() override { ++begins; }
  bool over() override { return ++looks == over_at; }

  std::int64_t over_at = 0;
  std::int64_t looks = 0;
  int begins = 0;
};

TEST(HostileScript, EndsWhereItHasThoughtTooLong) {
  const PolicyProblem problem;
  CountedLooks time;
  time.over_at = 5;
  LuaPolicy policy("slow.lua", "local function f()\n  while true do end\nend\nf()", {}, nullptr,
                   {.think_time = &time});
  EXPECT_EQ(policy.start(problem.context()).what, What::failed);
  EXPECT_EQ(time.looks, 5);
  EXPECT_EQ(policy.failure().find("slow.lua:2: took all the processor time"), 0u)
      << policy.failure();
  EXPECT_NE(policy.failure().find("slow.lua:4: in main chunk"), std::string::npos);
  EXPECT_EQ(policy.replace("return safe", problem.context()).what, What::hold);
}

TEST(HostileScript, ThinksAnewAfterAMeasurementAndNotAfterAnAnswerFromMemory) {
  const PolicyProblem problem;
  CountedLooks time;
  LuaPolicy policy("slow.lua", "measure(safe)\nremeasure(safe)\nfor i = 1, 1e5 do end\nreturn safe",
                   {}, nullptr, {.think_time = &time});
  const Request asked = policy.start(problem.context());
  ASSERT_EQ(asked.what, What::measure);
  EXPECT_EQ(time.begins, 1);
  Observation answer = complete(asked.setting, 9, 9);
  answer.from_memory = true;
  ASSERT_EQ(policy.resume(answer).what, What::remeasure);
  EXPECT_EQ(time.begins, 1);
  answer.from_memory = false;
  EXPECT_EQ(policy.resume(answer).what, What::hold);
  EXPECT_EQ(time.begins, 2);
  EXPECT_GE(time.looks, 1000) << "a look every hundred instructions";
  EXPECT_LT(time.looks, 1100);
}

TEST(HostileScript, LogsNothingThatATerminalObeys) {
  const PolicyProblem problem;
  LuaPolicy policy("log.lua", R"(log('\27[2J\n\u{9b}2J \u{b0}C\xc2') return safe)");
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), "?[2J???2J \u00b0C?");
}

TEST(HostileScript, IsRefusedWhenItIsTooLongAndRunsAtTheLimit) {
  const PolicyProblem problem;
  const LuaLimits limits;
  std::string text(limits.text_bytes - 11, ' ');
  text += "return safe";
  EXPECT_EQ(LuaPolicy("long.lua", text).start(problem.context()).what, What::hold);
  text += " ";
  LuaPolicy policy("long.lua", text);
  EXPECT_EQ(policy.start(problem.context()).what, What::failed);
  EXPECT_EQ(policy.failure(), "long.lua:1: the script has 65537 bytes; at most 65536 can be run");
}

TEST(HostileScript, MayMakeStringsUpToTheLimit) {
  const PolicyProblem problem;
  const std::string text =
      "local s = 'x'\nfor i = 1, 10 do s = s .. s end\nassert(#s == 1024)\nreturn safe";
  LuaPolicy policy("strings.lua", text);
  EXPECT_EQ(policy.start(problem.context()).what, What::hold) << policy.failure();
}

TEST(HostileScript, FormatsStringsUpToTheLimit) {
  const PolicyProblem problem;
  const std::string text =
      "local s = 'x'\nfor i = 1, 10 do s = s .. s end\n"
      "assert(string.format('%-5s', s) == s)\nreturn safe";
  LuaPolicy policy("format.lua", text);
  EXPECT_EQ(policy.start(problem.context()).what, What::hold) << policy.failure();
  LuaPolicy longer("format.lua",
                   "local s = '" + std::string(1025, 'x') + "'\nstring.format('%-5s', s)");
  longer.start(problem.context());
  EXPECT_NE(longer.failure().find("the result is longer than 1024 bytes"), std::string::npos)
      << longer.failure();
}

TEST(HostileScript, IsToldTheLineOfALiteralThatIsTooLong) {
  const PolicyProblem problem;
  LuaPolicy policy("literal.lua", "-- one\nlocal two\n\nlocal four = '" + std::string(2000, 'x') +
                                      "'\nreturn safe\n");
  EXPECT_EQ(policy.start(problem.context()).what, What::failed);
  EXPECT_EQ(policy.failure().rfind("literal.lua:4: not enough memory", 0), 0u) << policy.failure();
}

TEST(HostileScript, IsNamedOnceHoweverLongItsPath) {
  const PolicyProblem problem;
  const std::string path = "/home/somebody/" + std::string(60, 'x') + "/script.lua";
  LuaPolicy policy(path, "\nlocal a = nil + 1");
  policy.start(problem.context());
  EXPECT_EQ(policy.failure().find("script.lua:2: attempt"), 49u) << policy.failure();
  EXPECT_EQ(policy.failure().substr(0, 5), "...xx");
}

TEST(HostileScript, ReportsEveryCallOnItsStack) {
  const PolicyProblem problem;
  LuaPolicy policy("calls.lua", R"(local function probe(setting)
  return measure(setting).power.w
end
local function search()
  local found = probe(safe)
  return found
end
return search())");
  const Request question = policy.start(problem.context());
  ASSERT_EQ(policy.resume(complete(question.setting, 9, 9)).what, What::failed);
  EXPECT_EQ(policy.failure(),
            "calls.lua:2: attempt to index a nil value (field 'power')\n"
            "calls:\n"
            "  calls.lua:2: in upvalue 'probe'\n"
            "  calls.lua:5: in function at line 4");
}

}  // namespace
}  // namespace gearshift
