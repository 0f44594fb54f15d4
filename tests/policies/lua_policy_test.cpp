#include "policies/lua/lua_policy.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

using What = Request::What;

constexpr const char* kAsk = "return (measure{cpu_cores = 8, gpu_mhz = 624.75}).setting";

// All lines a script logs up to its first request.
std::vector<std::string> lines_of(const PolicyProblem& problem, const std::string& text,
                                  const std::string& name = "lines.lua") {
  LuaPolicy policy(name, text);
  policy.start(problem.context());
  EXPECT_EQ(policy.failure(), "");
  std::vector<std::string> lines;
  for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) {
    lines.push_back(line);
  }
  return lines;
}

// What `expression` prints in a script that was given `answer`.
std::string after_answer(const Observation& answer, const std::string& expression) {
  const PolicyProblem problem;
  LuaPolicy policy("answer.lua", "local a = measure(modes[1])\nlog(tostring(" + expression + "))");
  policy.start(problem.context());
  policy.resume(answer);
  EXPECT_EQ(policy.failure(), "");
  return policy.take_log();
}

Setting some_setting() { return {{{8, 624'750}, 2}, {32, 0}, Run::train}; }

TEST(LuaPolicy, MeasuresAndHoldsWhatTheScriptReturns) {
  const PolicyProblem problem;
  LuaPolicy policy("search.lua", R"(
    local seen = measure{cpu_cores = 8, gpu_mhz = 624.75, train_batch = 32}
    log("took " .. seen.minibatch_ms .. " ms")
    if seen.within then return seen.setting end
  )");
  const Request question = policy.start(problem.context());
  ASSERT_EQ(question.what, What::measure) << policy.failure();
  EXPECT_EQ(question.setting, some_setting());
  const Request choice = policy.resume(complete(question.setting, 40, 25));
  ASSERT_EQ(choice.what, What::hold) << policy.failure();
  EXPECT_EQ(choice.setting, question.setting);
  EXPECT_EQ(policy.take_log(), "took 40.0 ms");
  EXPECT_EQ(policy.take_log(), "");
}

TEST(LuaPolicy, HoldsTheSafeSettingWhenTheScriptHasNoAnswer) {
  const PolicyProblem problem;
  for (const char* text : {"", "return nil", "local a = 1"}) {
    EXPECT_EQ(LuaPolicy("nothing.lua", text).start(problem.context()).what, What::hold_safe);
  }
}

TEST(LuaPolicy, RemeasureLooksAgain) {
  const PolicyProblem problem;
  LuaPolicy policy("again.lua", "remeasure(safe)");
  EXPECT_EQ(policy.start(problem.context()).what, What::remeasure);
}

TEST(LuaPolicy, FillsInTheBatchSizeAndWhatRuns) {
  const PolicyProblem problem;
  const Request request = LuaPolicy("default.lua", "return safe").start(problem.context());
  ASSERT_EQ(request.what, What::hold);
  EXPECT_EQ(request.setting, (Setting{{{4, 306'000}, 2}, {16, 0}, Run::train}));
}

// A place is a key as in Lua's own tables: a division gives 2.0.
TEST(LuaPolicy, TakesWholeNumbersOfEitherKindAsPlaces) {
  const PolicyProblem problem;
  const Request middle =
      LuaPolicy("middle.lua", "return modes[#modes / 2]").start(problem.context());
  const Request same = LuaPolicy("same.lua", "return modes[#modes // 2]").start(problem.context());
  ASSERT_EQ(problem.context().modes.size() % 2, 0u);
  EXPECT_EQ(middle.what, What::hold);
  EXPECT_EQ(middle.setting, same.setting);
  for (const char* text : {"return modes[1.5]", "return modes['1']", "return modes[0 / 0]"}) {
    EXPECT_EQ(LuaPolicy("none.lua", text).start(problem.context()).what, What::hold_safe) << text;
  }
  EXPECT_EQ(LuaPolicy("recall.lua", "recall(10.0)").start(problem.context()).what, What::hold_safe);
}

// What editors and shells put before a script, as Lua's own loader of files takes it.
TEST(LuaPolicy, SkipsAByteOrderMarkAndALineForTheShell) {
  const PolicyProblem problem;
  for (const std::string before : {"\xEF\xBB\xBF", "#!/usr/bin/env lua\n", "\xEF\xBB\xBF#\n"}) {
    LuaPolicy policy("before.lua", before + "return safe");
    EXPECT_EQ(policy.start(problem.context()).what, What::hold) << policy.failure();
  }
  LuaPolicy wrong("wrong.lua", "#!/usr/bin/env lua\n\nreturn 1");
  EXPECT_EQ(wrong.start(problem.context()).what, What::failed);
  EXPECT_EQ(wrong.failure().substr(0, 12), "wrong.lua:3:");
  EXPECT_EQ(LuaPolicy("line.lua", "# no more").start(problem.context()).what, What::hold_safe);
}

TEST(LuaPolicy, TakesBothWorkloads) {
  const PolicyProblem problem;
  Workload server = problem.trainer;
  server.kind = Kind::infer;
  server.batch_size = 1;
  server.batch_size_count = 0;
  PolicyContext context = problem.context();
  context.workloads[index(Kind::infer)] = &server;
  const Request both = LuaPolicy("both.lua", "return safe").start(context);
  EXPECT_EQ(both.setting, (Setting{{{4, 306'000}, 2}, {16, 1}, Run::both}));
  const Request one =
      LuaPolicy("one.lua", "return {cpu_cores=8, gpu_mhz=306, infer_batch=1, run='infer'}")
          .start(context);
  EXPECT_EQ(one.setting, (Setting{{{8, 306'000}, 2}, {16, 1}, Run::infer}));
}

TEST(LuaPolicy, GivesEveryNumberOfAnAnswerInTheUnitItsNameSays) {
  const Observation answer = complete(some_setting(), 64, 25);
  EXPECT_EQ(after_answer(answer, "a.ok and a.within"), "true");
  EXPECT_EQ(after_answer(answer, "a.reason"), "complete");
  EXPECT_EQ(after_answer(answer, "a.power_w"), "25.0");
  EXPECT_EQ(after_answer(answer, "a.power_max_w"), "25.5");
  EXPECT_EQ(after_answer(answer, "a.power_margin_w"), "0.1");
  EXPECT_EQ(after_answer(answer, "a.limit_w"), "30.0");
  EXPECT_EQ(after_answer(answer, "a.minibatch_ms"), "64.0");
  EXPECT_EQ(after_answer(answer, "a.minibatch_ms_p99"), "67.0");
  EXPECT_EQ(after_answer(answer, "a.sample_ms"), "2.0");
  EXPECT_EQ(after_answer(answer, "a.energy_j"), "0.05");
  EXPECT_EQ(after_answer(answer, "a.value"), "0.002");
  EXPECT_EQ(after_answer(answer, "a.duration_s"), "2.5");
  EXPECT_EQ(after_answer(answer, "a.count"), "20");
  EXPECT_EQ(after_answer(answer, "a.train.minibatch_ms"), "64.0");
  EXPECT_EQ(after_answer(answer, "a.infer.minibatch_ms == math.huge"), "true");
  EXPECT_EQ(after_answer(answer, "a.setting.gpu_mhz"), "624.75");
  EXPECT_EQ(after_answer(answer, "a.setting.cpu_cores"), "8");
  EXPECT_EQ(after_answer(answer, "a.setting.train_batch .. a.setting.run"), "32train");
}

TEST(LuaPolicy, RejectsByInfinityWhatWasNotMeasuredToTheEnd) {
  const Observation answer = cut_short(some_setting(), Outcome::over_limit);
  EXPECT_EQ(after_answer(answer, "a.ok or a.within"), "false");
  EXPECT_EQ(after_answer(answer, "a.reason"), "over_limit");
  for (const char* field :
       {"power_w", "power_max_w", "minibatch_ms", "minibatch_ms_stddev", "minibatch_ms_p99",
        "sample_ms", "energy_j", "value", "train.sample_ms", "limit_w"}) {
    EXPECT_EQ(after_answer(answer, std::string("a.") + field + " == math.huge"), "true") << field;
  }
  EXPECT_EQ(after_answer(answer, "a.count"), "0");
}

TEST(LuaPolicy, TellsWhatFailedFromWhatALimitCut) {
  for (std::uint8_t i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const bool cut = outcome == Outcome::over_limit || outcome == Outcome::late;
    const char* failed = outcome == Outcome::complete || cut ? "false" : "true";
    EXPECT_EQ(after_answer(cut_short(some_setting(), outcome), "a.failed"), failed)
        << outcome_name(outcome);
  }
}

TEST(LuaPolicy, TellsWhatWasReadOfASettingThatWasCutAndOfNoOther) {
  Observation answer = cut_short(some_setting(), Outcome::over_limit);
  EXPECT_EQ(after_answer(answer, "a.cut_at_w == math.huge"), "true") << "a recording without it";
  answer.power_mean_mw = 45'500;
  EXPECT_EQ(after_answer(answer, "a.cut_at_w"), "45.5");
  EXPECT_EQ(after_answer(answer, "a.power_w == math.huge"), "true");
  EXPECT_EQ(after_answer(complete(some_setting(), 64, 25), "a.cut_at_w == math.huge"), "true");
}

TEST(LuaPolicy, JudgesWithinAgainstTheGoalAndItsNoiseMargin) {
  EXPECT_EQ(after_answer(complete(some_setting(), 64, 29.9), "a.within"), "true");
  EXPECT_EQ(after_answer(complete(some_setting(), 64, 29.901), "a.within"), "false");
}

TEST(LuaPolicy, ShowsGoalKnobsModesAndWorkloads) {
  PolicyProblem problem;
  problem.observations = {complete(some_setting(), 64, 25)};
  EXPECT_EQ(lines_of(problem, R"(
    log(goal.objective .. " " .. goal.power_w)
    for i, name in ipairs(knobs.names) do log(i .. name .. " " .. table.concat(knobs[name], " ")) end
    log(#modes .. " " .. modes[6].gpu_mhz .. " " .. tostring(modes[7]) .. tostring(modes.x))
    log(table.concat(batch_sizes.train, " ") .. tostring(batch_sizes.infer))
    log(workload.train.name .. workload.train.batch_size)
    log(#observations .. " " .. observations[1].sample_ms .. tostring(observations[2]))
    log(safe.gpu_mhz .. " " .. seed)
  )"),
            (std::vector<std::string>{"time 30", "1cpu_cores 4 8", "2gpu_mhz 306 624.75 1300.5",
                                      "6 1300.5 nilnil", "8 16 32 64nil", "lenet16", "1 2.0nil",
                                      "306 7"}));
  problem.goal = {Objective::energy, std::nullopt};
  EXPECT_EQ(lines_of(problem, "log(goal.objective .. goal.power_w)").front(), "energyinf");
}

// A search that picks its best from there would insist on a setting that is known not to fit.
TEST(LuaPolicy, AnObservationIsNotWithinOnceTheGuardHasCutItsSetting) {
  PolicyProblem problem;
  Observation cut = cut_short(some_setting(), Outcome::over_limit);
  cut.limit_mw = 30'000;
  problem.observations = {complete(some_setting(), 64, 25), cut};
  const std::string text =
      "log(tostring(observations[1].ok) .. tostring(observations[1].within) .. "
      "tostring(observations[2].within))";
  EXPECT_EQ(lines_of(problem, text).at(0), "truefalsefalse");
  problem.goal.power_mw = 31'000;
  EXPECT_EQ(lines_of(problem, text).at(0), "truetruefalse") << "the cap is looser now";
}

TEST(LuaPolicy, VisitsPairsInOneOrder) {
  EXPECT_EQ(lines_of({}, R"(
    local seen = {}
    for k, v in pairs{z = 1, [3] = 2, a = 3, [-1.5] = 4, [1] = 5, B = 6} do
      seen[#seen + 1] = k .. "=" .. v
    end
    log(table.concat(seen, " "))
  )")
                .front(),
            "-1.5=4 1=5 3=2 B=6 a=3 z=1");
}

TEST(LuaPolicy, VisitsListsAndHandlesByIpairs) {
  PolicyProblem problem;
  problem.observations = {complete(some_setting(), 64, 25)};
  EXPECT_EQ(lines_of(problem, R"(
    local seen = {}
    for i, value in ipairs{7, 8, nil, 9} do seen[#seen + 1] = i .. "=" .. value end
    for i, mode in ipairs(modes) do seen[#seen + 1] = i .. "@" .. mode.gpu_mhz end
    for i, answer in ipairs(observations) do seen[#seen + 1] = i .. ":" .. answer.power_w end
    for _ in ipairs(prior) do seen[#seen + 1] = "never" end
    log(table.concat(seen, " "))
  )")
                .front(),
            "1=7 2=8 1@306 2@306 3@624.75 4@624.75 5@1300.5 6@1300.5 1:25.0");
}

TEST(LuaPolicy, SortsAnythingStably) {
  EXPECT_EQ(lines_of({}, R"(
    local list = {5, 3, 9, 1, 7, 3, 2}
    table.sort(list)
    log(table.concat(list, " "))
    table.sort(list, function(a, b) return a > b end)
    log(table.concat(list, " "))
    local pairs_of = {{1, "a"}, {0, "b"}, {1, "c"}, {0, "d"}, {1, "e"}}
    table.sort(pairs_of, function(a, b) return a[1] < b[1] end)
    local order = {}
    for i, entry in ipairs(pairs_of) do order[i] = entry[2] end
    log(table.concat(order))
  )"),
            (std::vector<std::string>{"1 2 3 3 5 7 9", "9 7 5 3 3 2 1", "bdace"}));
}

TEST(LuaPolicy, FormatsAsLuaDoes) {
  EXPECT_EQ(lines_of({}, R"(
    log(string.format("%5.1f|%-4d|%04x|%s|%5s|%%|%g|%c", 2.25, 7, 255, "s", "ab", 1e20, 65))
    log(("%s %s %s"):format(nil, true, {}))
    log(tostring(1e15) .. tostring(-0.5) .. tostring(3) .. tostring(print))
    log(tostring(tonumber("0x10")) .. tostring(tonumber("no")) .. tostring(tonumber{}))
    local list = {1, 2, 4}
    table.insert(list, 3, 3)
    table.insert(list, 5)
    log(table.concat(list, ",") .. " " .. table.remove(list, 1) .. table.remove(list) .. #list)
  )"),
            (std::vector<std::string>{"  2.2|7   |00ff|s|   ab|%|1e+20|A", "nil true table",
                                      "1e+15-0.53nil", "16nilnil", "1,2,3,4,5 153"}));
}

TEST(LuaPolicy, DrawsEqualNumbersForEqualSeedNameAndObservations) {
  const std::string text = "for i = 1, 4 do log(math.random(1000000) .. ' ' .. math.random()) end";
  PolicyProblem problem;
  const auto first = lines_of(problem, text);
  EXPECT_EQ(lines_of(problem, text), first);
  EXPECT_NE(lines_of(problem, text, "other.lua"), first);
  problem.seed = 8;
  EXPECT_NE(lines_of(problem, text), first);
  problem.seed = 7;
  problem.observations = {complete(some_setting(), 64, 25)};
  EXPECT_NE(lines_of(problem, text), first);
}

TEST(LuaPolicy, DrawsWithinTheRangeAtItsEnds) {
  EXPECT_EQ(lines_of({}, R"(
    local low, high = math.huge, -math.huge
    for i = 1, 1000 do
      local drawn = math.random(-1, 1)
      low, high = math.min(low, drawn), math.max(high, drawn)
      local part = math.random()
      assert(part >= 0 and part < 1)
    end
    log(low .. high .. math.random(5, 5))
    math.random(math.mininteger, math.maxinteger)
  )")
                .front(),
            "-115");
}

TEST(LuaPolicy, StartsFromTheTopInAFreshState) {
  const PolicyProblem problem;
  LuaPolicy policy("fresh.lua", std::string("count = (count or 0) + 1\nlog(count)\n") + kAsk);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(policy.start(problem.context()).what, What::measure);
    EXPECT_EQ(policy.take_log(), "1");
  }
}

TEST(LuaPolicy, FailsWhenAnAnswerComesToNoQuestion) {
  const PolicyProblem problem;
  LuaPolicy policy("held.lua", "return safe");
  EXPECT_EQ(policy.resume({}).what, What::failed);
  EXPECT_EQ(policy.start(problem.context()).what, What::hold);
  EXPECT_EQ(policy.resume({}).what, What::failed);
  EXPECT_NE(policy.failure(), "");
}

TEST(LuaPolicy, ReplacesTheScriptOnceTheNewOneAsks) {
  const PolicyProblem problem;
  LuaPolicy policy("edit.lua", kAsk);
  policy.start(problem.context());
  const Request request = policy.replace("remeasure(safe)\nreturn safe", problem.context());
  EXPECT_EQ(request.what, What::remeasure);
  EXPECT_EQ(policy.resume(complete(request.setting, 9, 9)).setting.mode, problem.knobs.lowest());
  EXPECT_EQ(policy.start(problem.context()).what, What::remeasure) << "the new text stays";
}

TEST(LuaPolicy, TakesAScriptThatCompilesWhereNoWorkloadRuns) {
  const PolicyProblem problem;
  LuaPolicy policy("edit.lua", kAsk);
  PolicyContext nobody = problem.context();
  nobody.workloads = {};
  EXPECT_THROW(policy.replace("syntax error", nobody), PolicyError);
  EXPECT_EQ(policy.start(problem.context()).what, What::measure) << "the old text stays";

  policy.replace("assert(workload.train.batch_size > 0)\nremeasure(safe)\nreturn safe", nobody);
  EXPECT_EQ(policy.start(problem.context()).what, What::remeasure);
}

TEST(LuaPolicy, KeepsTheOldScriptWhereItWasIfTheNewOneFails) {
  const PolicyProblem problem;
  LuaPolicy policy("edit.lua", kAsk);
  const Request question = policy.start(problem.context());
  for (const char* text :
       {"syntax error", "local x = nil\nx.y = 1", "while true do end", "return {cpu_cores = 5}"}) {
    try {
      policy.replace(text, problem.context());
      FAIL() << text;
    } catch (const PolicyError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("edit.lua:", 0), 0u) << error.what();
    }
  }
  EXPECT_EQ(policy.resume(complete(question.setting, 9, 9)).what, What::hold);
  EXPECT_EQ(policy.start(problem.context()).what, What::measure) << "the old text stays";
}

TEST(LuaPolicy, KeepsLogLinesUpToItsLimitsAndCountsTheRest) {
  const auto lines = lines_of({}, R"(
    log("\27[2Jtwo\nlines")
    log(string.format("%99s", "x") .. string.format("%99s", "y") .. "zzz")
    log("")
    for i = 4, 70 do log(i) end
  )");
  ASSERT_EQ(lines.size(), kLogLines + 1);
  EXPECT_EQ(lines[0], "?[2Jtwo?lines");
  EXPECT_EQ(lines[1].size(), kLogLineBytes);
  EXPECT_EQ(lines[1].substr(195), "  yzz");
  EXPECT_EQ(lines[2], " ");
  EXPECT_EQ(lines[63], "64");
  EXPECT_EQ(lines[64], "(6 more lines were dropped)");
}

TEST(LuaPolicy, ForgivesTheBudgetWithEachRealAnswerOnly) {
  const PolicyProblem problem;
  LuaLimits limits;
  limits.instructions_per_answer = 20'000;
  for (const bool from_memory : {false, true}) {
    LuaPolicy policy("often.lua", "while true do measure(safe) end", {}, nullptr, limits);
    Request request = policy.start(problem.context());
    int answers = 0;
    while (request.what == What::measure && answers < 1000) {
      Observation answer = complete(request.setting, 9, 9);
      answer.from_memory = from_memory;
      request = policy.resume(answer);
      ++answers;
    }
    EXPECT_EQ(answers, from_memory ? 21 : 1000) << policy.failure();
  }
}

}  // namespace
}  // namespace gearshift
