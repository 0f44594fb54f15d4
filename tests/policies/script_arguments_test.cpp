// What scripts may hand wrongly to the modules of policies/api*.lua: each is an error that names
// the function, what is wrong and the way out, and none is taken for nothing.
#include <gtest/gtest.h>

#include <string>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/interleaved_problem.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

// `a` is an answer, `with` a copy of it with other fields.
constexpr const char* kBegin =
    "local a = measure(safe)\nlocal nan, none = 0 / 0, {}\n"
    "local function with(fields)\n"
    "  local copy = {}\n"
    "  for name, value in pairs(a) do copy[name] = value end\n"
    "  for name, value in pairs(fields) do copy[name] = value end\n"
    "  for name in pairs(fields) do if fields[name] == none then copy[name] = nil end end\n"
    "  return copy\n"
    "end\n";

// How a script fails; what it logs where it does not.
std::string arguments_said(const PolicyContext& context, const std::string& text) {
  LuaPolicy policy("arguments.lua", kBegin + text, built_in_board_model("jetson-agx-orin"));
  Request request = policy.start(context);
  for (int i = 0; i < 9 && request.what == Request::What::measure; ++i) {
    request = policy.resume(complete(request.setting, 100 + 10 * i, 20 + i));
  }
  return policy.failure().empty() ? policy.take_log() : std::string(policy.failure());
}

std::string arguments_said(const std::string& text) {
  return arguments_said(PolicyProblem().context(), text);
}

// Of a goal, what scripts compute of predicted times.
TEST(ScriptArguments, LatencyIsOfABatchSizeAndAMinibatchTimeAtTheRateOfTheGoal) {
  PolicyProblem problem;
  const char* text = "log(string.format('%.3f', goal.latency_of(4, 50)))";
  EXPECT_EQ(arguments_said(problem.context(), text), "50.000") << "no rate is known";
  problem.goal.arrivals_per_s = 20;
  EXPECT_EQ(arguments_said(problem.context(), text), "250.000") << "four come in 200 ms";
  problem.goal.one_by_one = true;
  EXPECT_NEAR(std::stod(arguments_said(problem.context(), text)), 75 + 50 + 50 * 0.25 / 0.75 / 8,
              1e-3);
  const std::string wrong = arguments_said(problem.context(), "goal.latency_of(4)");
  EXPECT_NE(wrong.find("bad argument #2 to 'latency_of' (number expected"), std::string::npos)
      << wrong;
}

struct WrongArgument {
  const char* name;
  const char* text;
  const char* expected;  // part of the failure
};

const WrongArgument kWrong[] = {
    {"point_alone", "pareto.front(a)",
     "pareto.front: expected a list of points, got a table with names instead of positions; one "
     "alone goes into a list, {one}"},
    {"points_handle", "pareto.front(observations)",
     "pareto.front: expected a list of points, got userdata"},
    {"point_without_number", "pareto.front({{x = 1, y = nan}}, 'x', 'y')",
     "pareto.front: point 1: 'y' is no number (nan)"},
    {"point_field_place", "pareto.front({{1, 2}}, 1, 2)",
     "pareto.front: expected the name of a field, got number"},

    {"belief_missing", "posterior.update()",
     "posterior.update: expected a belief, {mean = 0, weight = 0, shape = 1, scale = 1}, got no "
     "value"},
    {"belief_field_missing", "posterior.update({mean = 0, wieght = 1, shape = 1, scale = 1}, {})",
     "posterior.update: weight: expected a number from 0.0 to 1e15, got nil"},
    {"belief_text", "posterior.draw({mean = '3', weight = 1, shape = 1, scale = 1})",
     "posterior.draw: mean: expected a number from -1e+15 to 1e15, got string"},
    {"belief_weightless", "posterior.draw({mean = 3, weight = 0, shape = 1, scale = 1})",
     "posterior.draw: weight: expected a number from 1e-06 to 1e15, got 0"},
    {"value_text", "posterior.update({mean = 0, weight = 0, shape = 1, scale = 1}, {1, 'x'})",
     "posterior.update: value 2: expected a number from -1e+15 to 1e15, got string"},
    {"value_named", "posterior.update({mean = 0, weight = 0, shape = 1, scale = 1}, {value = 3})",
     "posterior.update: expected a list of values, got a table with names"},
    {"values_missing", "posterior.update({mean = 0, weight = 0, shape = 1, scale = 1})",
     "posterior.update: expected a list of values, got no value"},

    {"weights_infinite", "numerics.least_squares({{1e-308}}, {1e99})",
     "numerics.least_squares: the weights are not finite; bring rows and targets closer to 1"},
    {"target_too_large", "numerics.nonnegative_fit({{1}}, {1e101}, {1}, 1)",
     "numerics: targets: value 1: expected a number from -1e100 to 1e100, got 1e+101"},
    {"row_weight_too_large", "numerics.nonnegative_fit({{1, weight = 1e101}}, {1}, {1}, 1)",
     "numerics: weight: 1e+101; a number from 0 to 1e100 is needed"},
    {"row_field_misspelt", "numerics.nonnegative_fit({{1}, {1, wieght = 3}}, {1, 1}, {1}, 1)",
     "numerics: row 2: unknown field 'wieght': beside its numbers a row may have at_least, weight"},
    {"row_field_elsewhere", "numerics.least_squares({{1, weight = 3}}, {1})",
     "numerics: row 1: unknown field 'weight': a row has numbers alone"},
    {"row_of_a_long_chain",
     "local row = {1} for k = 1, 2000 do row[1000 + 2047 * k] = 1 end "
     "numerics.least_squares({row}, {1})",
     "numerics: row 1 has more than 9 keys: a row has numbers alone"},
    {"row_of_far_more_fields",
     "local row = {1} for k = 1, 2000 do row['k' .. k] = 1 end "
     "numerics.nonnegative_fit({row}, {1}, {1}, 1)",
     "numerics: row 1 has more than 11 keys: beside its numbers a row may have at_least, weight"},
    {"row_with_a_gap", "numerics.least_squares({{1}, {1, [7] = 3}}, {1, 1})",
     "numerics: row 2: its numbers end at 1, and it has 1 keys more"},
    {"row_of_text", "numerics.nonnegative_fit({{1, at_least = 'no'}}, {1}, {1}, 1)",
     "numerics: row 1: at_least: expected true or false, got string"},
    {"pull_text", "numerics.nonnegative_fit({{1}}, {1}, {1}, '1')",
     "numerics: pull: expected a number above 0, at most 1e9, got string"},

    {"answer_alone", "roofline.fit(a)",
     "roofline.fit: expected a list of answers, got a table with names"},
    {"answer_without_setting", "roofline.fit({a, safe})",
     "roofline.fit: answer 2: setting: expected a setting (a table), got nil"},
    {"answer_misspelt", "roofline.fit({a, with{minibatch_ms = none, minibatch = 5}})",
     "roofline.fit: answer 2: minibatch_ms: expected a number from 0, got nil"},
    {"answer_text", "roofline.fit({with{power_w = '9'}})",
     "roofline.fit: answer 1: power_w: expected a number from 0, got string"},
    {"answer_not_a_number", "roofline.fit({with{power_w = nan}})",
     "roofline.fit: answer 1: power_w: expected a number from 0, got "},
    {"answer_below_nothing", "roofline.fit({with{minibatch_ms = -1}})",
     "roofline.fit: answer 1: minibatch_ms: expected a number from 0, got -1"},
    {"answer_of_another_reason", "roofline.fit({with{reason = 'over_limt'}})",
     "roofline.fit: answer 1: reason: 'over_limt' is none of measure's: complete, over_limit, "},
    {"answer_without_its_limit", "roofline.fit({with{reason = 'over_limit', limit_w = none}})",
     "roofline.fit: answer 1: limit_w: expected a number from 0, got nil"},

    {"choice_text", "roofline.surface(roofline.fit()):best{power_w = '30'}",
     "surface:best: power_w: expected a number above 0, got string"},
    {"choice_of_no_power", "roofline.surface(roofline.fit()):best{power_w = 0}",
     "surface:best: power_w: expected a number above 0, got 0"},
    {"choice_too_bold", "roofline.surface(roofline.fit()):front{time_deviations = 101}",
     "surface:front: time_deviations: expected a number from -100 to 100, got 101"},

    {"learns_ok_text", "gp.learn(with{ok = 'false'})",
     "gp.learn: ok: expected true or false, got string"},
    {"learns_reason_misspelt", "gp.learn(with{ok = false, reason = 'over_limt'})",
     "gp.learn: reason: 'over_limt' is none of measure's"},
    {"learns_reason_unknown", "gp.learn(with{ok = false, reason = 'unknown'})",
     "gp.learn: reason: 'unknown' is none of measure's: complete, over_limit, refused, "
     "not_applied, timed_out, stalled, outside_writer, goal_changed, workload_changed, "
     "power_unknown, late"},
    {"learns_reason_number", "gp.learn(with{reason = 3})",
     "gp.learn: reason: expected a string, got number"},
    {"learns_without_reason", "gp.learn{setting = safe, resaon = 'over_limit', limit_w = 20}",
     "gp.learn: reason: an answer that is not ok has one, got nil"},
    {"learns_without_limit", "gp.learn{setting = safe, reason = 'over_limit'}",
     "gp.learn: limit_w: expected a number from 0, got nil"},
    {"learns_limit_text", "gp.learn{setting = safe, reason = 'over_limit', limit_w = '9'}",
     "gp.learn: limit_w: expected a number from 0, got string"},
    {"learns_time_text", "gp.learn(with{minibatch_ms = '9'})",
     "gp.learn: minibatch_ms: expected a number from 0, got string"},
    {"learns_deviation_text", "gp.learn(with{minibatch_ms_stddev = 'x'})",
     "gp.learn: minibatch_ms_stddev: expected a number from 0, got string"},
    {"learns_count_not_a_number", "gp.learn(with{count = nan})",
     "gp.learn: count: expected a number from 0, got "},
    {"learns_part_number", "gp.learn(with{train = 3})",
     "gp.learn: train: expected a table, got number"},
    {"learns_part_below_nothing", "gp.learn(with{train = {minibatch_ms = -4, count = 2}})",
     "gp.learn: train: minibatch_ms: expected a number from 0, got -4"},

    {"three_bounds", "math.random(1, 2, 3)", "two bounds at most"},
    {"sorted_by_text", "table.sort({2, 1}, '<')",
     "table.sort: expected a function that compares, got string"},
};

class WrongArguments : public testing::TestWithParam<WrongArgument> {};

TEST_P(WrongArguments, AreNamed) {
  const std::string failure = arguments_said(GetParam().text);
  EXPECT_EQ(failure.find("arguments.lua:10: "), 0U) << failure;
  EXPECT_NE(failure.find(GetParam().expected), std::string::npos) << failure;
}

INSTANTIATE_TEST_SUITE_P(Table, WrongArguments, testing::ValuesIn(kWrong),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ScriptArguments, MayBeWhatMeasureAnswersWhereNothingWasMeasured) {
  EXPECT_EQ(arguments_said(
                "local costs = {minibatch_ms = math.huge, power_w = math.huge, ok = false}\n"
                "for _, reason in ipairs{'stalled', 'over_limit', 'outside_writer', 'late'} do\n"
                "  costs.reason, costs.limit_w = reason, math.huge\n"
                "  assert(not gp.learn(with(costs)))\n"
                "  assert(roofline.fit({with(costs)}).rows == 0)\n"
                "end\n"
                "log(#pareto.front({a, with(costs)}))"),
            "1");
  EXPECT_EQ(arguments_said(
                "log(roofline.fit({}).rows .. #pareto.front({}) .. #numerics.least_squares(\n"
                "  {{1}}, {1}) .. posterior.update({mean = 0, weight = 0, shape = 1, scale = 1},\n"
                "  {}).shape)"),
            "0011.0");
}

// Whatever values make of a belief can be drawn from, and updated again.
TEST(ScriptArguments, TakeBackEveryBeliefThatWasUpdated) {
  const std::string start = "local b = {mean = 0, weight = 0, shape = 1, scale = 1}\n";
  EXPECT_EQ(arguments_said(start + "b = posterior.update(b, {1e8, 2e8})\n"
                                   "assert(math.abs(posterior.draw(b)) < 1e12)\n"
                                   "log(posterior.update(b, {1e8}).shape)"),
            "2.5");
  EXPECT_EQ(arguments_said(start + "local far = {}\n"
                                   "for i = 1, 256 do far[i] = i % 2 == 0 and 1e15 or -1e15 end\n"
                                   "for i = 1, 20 do b = posterior.update(b, far) end\n"
                                   "log(b.scale)"),
            "1e+33");
  EXPECT_EQ(arguments_said("local most = {mean = 1e15, weight = 1e15, shape = 1e15, scale = 1e33}\n"
                           "most = posterior.update(most, {1e15, 1e15, -1e15})\n"
                           "most = posterior.update(most, {1e15, 1e15, -1e15})\n"
                           "most.weight, most.shape = 1e-6, 1e-3\n"
                           "local draw, finite = 0, true\n"
                           "for i = 1, 200 do\n"
                           "  draw = posterior.draw(most)\n"
                           "  finite = finite and math.abs(draw) < math.huge\n"
                           "end\n"
                           "log(tostring(finite))"),
            "true");
}

// What inference alone costs is no cost of training.
TEST(ScriptArguments, AreNoRowsOfTrainingWhereInferenceRanAlone) {
  InterleavedProblem problem;
  problem.observations = {complete({problem.knobs.lowest(), {16, 1}, Run::infer}, 9, 12),
                          complete({problem.knobs.lowest(), {16, 1}, Run::both}, 90, 14)};
  EXPECT_EQ(arguments_said(problem.context(),
                           "log(roofline.fit({observations[1], observations[2]}).rows)"),
            "1");
  problem.observations[0] = cut_short(problem.observations[0].setting, Outcome::over_limit);
  problem.observations[0].limit_mw = 20'000;
  EXPECT_EQ(arguments_said(problem.context(), "log(roofline.fit(observations and nil).rows)"), "2")
      << "the answer that the script began with, too";
}

TEST(ScriptArguments, NeedTheCostsOfInferenceBesideTraining) {
  InterleavedProblem problem;
  const std::string failure = arguments_said(problem.context(), "gp.learn(with{infer = none})");
  EXPECT_NE(failure.find("gp.learn: infer: an answer of training beside inference has its costs"),
            std::string::npos)
      << failure;
  // Where no request came there are none.
  EXPECT_EQ(arguments_said(problem.context(), "log(tostring(gp.learn(a)))"), "false");
}

}  // namespace
}  // namespace gearshift
