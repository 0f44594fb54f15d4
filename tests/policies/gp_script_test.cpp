// The Lua table gp, and the script that searches with it, on good and on hostile ground.
#include <gtest/gtest.h>

#include <string>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/setting_grid.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

std::optional<BoardModel> orin_model() { return built_in_board_model("jetson-agx-orin"); }

std::string failure_of(const std::string& text) {
  const OrinProblem problem;
  LuaPolicy policy("gp.lua", text, orin_model());
  policy.start(problem.context());
  return std::string(policy.failure());
}

// An answer's odds are those to keep the whole goal, a term's those to keep the cap; a share and a
// count of what is over it are two things as well.
TEST(Gp, HasOneNameForEachThing) {
  EXPECT_NE(
      failure_of("gp.next { odds = 0.5 }")
          .find("gp.next: unknown term 'odds': the terms are best, busy_ms, doubt, most_over, "
                "power_odds, price, run, safest"),
      std::string::npos);
  for (const char* text : {"gp.next { over = 2 }", "gp.next { busy = 2 }", "gp.draw { over = 0.1 }",
                           "gp.draw_smooth { over = 0.1 }"}) {
    EXPECT_NE(failure_of(text).find("unknown term"), std::string::npos) << text;
  }
}

TEST(Gp, NamesWhatItCannotTake) {
  EXPECT_NE(failure_of("gp.next(3)").find("gp.next: expected a table of terms, got number"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.next { price = -1 }").find("gp.next: price: expected a number from 0"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.next { power_odds = 'even' }").find("got string"), std::string::npos);
  EXPECT_NE(failure_of("gp.next { best = 0 }").find("best: expected a value above 0"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.learn(nil)").find("expected an answer of measure, got nil"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.learn {}").find("gp.learn: setting: expected a setting"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.learn { setting = safe, ok = true, minibatch_ms = 0, power_w = 3 }")
                .find("needs minibatch_ms and power_w"),
            std::string::npos);
  EXPECT_NE(
      failure_of("gp.learn { setting = { gpu_mhz = 5 }, ok = true }").find("cpu_cores is missing"),
      std::string::npos);
}

// No value at all would make tostring(), and whatever else needs one, fail.
TEST(Gp, AnswersNilWhereThereIsNothing) {
  OrinProblem problem;
  problem.goal.power_mw = 1000;
  for (const char* text :
       {"gp.next { power_odds = 1 }", "gp.draw { over_odds = 0 }", "gp.draw_smooth()"}) {
    LuaPolicy policy("gp.lua", std::string("log(tostring(") + text + "))", orin_model());
    policy.start(problem.context());
    EXPECT_EQ(policy.failure(), "") << text;
    EXPECT_EQ(policy.take_log(), "nil") << text;
  }
}

// One that answers late was cut before its power had settled; how slow it is says much of the
// others.
TEST(Gp, LearnsHowSlowALateServerIs) {
  const OrinProblem problem(Kind::infer);
  LuaPolicy policy("late.lua", R"lua(
local before = gp.next { best = 1 }
local setting = before.setting
assert(not gp.learn { setting = setting, ok = false, reason = "late" })
local slow = { minibatch_ms = 30 * before.minibatch_ms, minibatch_ms_stddev = 0, count = 5 }
assert(gp.learn { setting = setting, ok = false, reason = "late", infer = slow })
assert(gp.next { best = 1 }.minibatch_ms > 2 * before.minibatch_ms)
return setting
)lua",
                   orin_model());
  const Request request = policy.start(problem.context());
  EXPECT_EQ(request.what, Request::What::hold) << policy.failure();
}

// Before a minibatch had ended nothing is known but that it takes more than was allowed.
TEST(Gp, LearnsThatALateServerIsSlower) {
  const OrinProblem problem(Kind::infer);
  LuaPolicy policy("slower.lua", R"lua(
local before = gp.next { best = 1 }
local late = { setting = before.setting, ok = false, reason = "late" }
late.slower_than_ms = 0
assert(not gp.learn(late))
late.slower_than_ms = before.minibatch_ms / 30
assert(gp.learn(late))
local known = gp.next { best = 1 }.minibatch_ms
late.slower_than_ms = 30 * before.minibatch_ms
assert(gp.learn(late))
local after = gp.next { best = 1 }.minibatch_ms
assert(known < 2 * before.minibatch_ms and after > 2 * before.minibatch_ms)
return before.setting
)lua",
                   orin_model());
  const Request request = policy.start(problem.context());
  EXPECT_EQ(request.what, Request::What::hold) << policy.failure();
}

// What was late while more requests came may be in time now.
TEST(Gp, AsksAgainForWhatWasLateAtAHigherRate) {
  PolicyProblem problem;
  problem.trainer.kind = Kind::infer;
  problem.trainer.batch_size_count = 0;
  for (const PowerMode& mode : problem.modes) {
    Observation late = cut_short({mode, {0, 16}, Run::infer}, Outcome::late);
    late.late_per_s = 60;
    problem.observations.push_back(late);
  }
  for (const double arrivals_per_s : {60, 30}) {
    problem.goal.arrivals_per_s = arrivals_per_s;
    LuaPolicy policy("late.lua", R"lua(
for i = 1, #observations do gp.learn(observations[i]) end
return gp.next { safest = 0, power_odds = 0 } and safe
)lua");
    const Request::What expected =
        arrivals_per_s < 60 ? Request::What::hold : Request::What::hold_safe;
    EXPECT_EQ(policy.start(problem.context()).what, expected) << policy.failure();
  }
}

TEST(Gp, DrawsASettingAndSaysWhatItBelievesOfIt) {
  EXPECT_NE(failure_of("gp.draw(3)").find("gp.draw: expected a table of terms, got number"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.draw { over_odds = 2 }")
                .find("gp.draw: over_odds: expected a number from 0 to 1"),
            std::string::npos);
  EXPECT_NE(failure_of("while true do gp.draw() end").find("instructions"), std::string::npos);
  OrinProblem problem;
  problem.goal.power_mw.reset();
  LuaPolicy policy("gp.lua",
                   "local drawn = gp.draw { temper = 0.5 }\n"
                   "log(string.format('%s %s', drawn.value > 0, drawn.deviation > 0))\n"
                   "log(string.format('%s', drawn.odds > 0.99 and drawn.power_odds > 0.99))\n"
                   "measure(drawn.setting)",
                   orin_model());
  EXPECT_EQ(policy.start(problem.context()).what, Request::What::measure) << policy.failure();
  EXPECT_EQ(policy.take_log(), "true true");
  EXPECT_EQ(policy.take_log(), "true");
}

TEST(Gp, DrawsWithoutTheBoardWhereSomethingWasLearnt) {
  EXPECT_NE(failure_of("gp.draw_smooth { over_odds = 2 }")
                .find("gp.draw_smooth: over_odds: expected a number"),
            std::string::npos);
  EXPECT_NE(failure_of("gp.draw_smooth { expected = 'cheap' }").find("gp.draw_smooth: expected: "),
            std::string::npos);
  EXPECT_NE(failure_of("while true do gp.draw_smooth() end").find("instructions"),
            std::string::npos);
  OrinProblem problem;
  problem.goal.power_mw.reset();
  LuaPolicy policy("gp.lua",
                   "log(tostring((gp.draw_smooth())))\n"
                   "gp.learn { setting = safe, ok = true, minibatch_ms = 90, power_w = 20 }\n"
                   "local drawn = gp.draw_smooth { over_odds = 0.1 }\n"
                   "log(string.format('%s %s', drawn.value > 0, drawn.odds > 0.99))\n"
                   "measure(drawn.setting)",
                   orin_model());
  EXPECT_EQ(policy.start(problem.context()).what, Request::What::measure) << policy.failure();
  EXPECT_EQ(policy.take_log(), "nil");
  EXPECT_EQ(policy.take_log(), "true true");
}

// As bayes.lua does where it starts over, and its first choice of terms promises nothing.
TEST(Gp, CanBeAskedTwiceAtTheBeginningOnALargeBoard) {
  OrinProblem problem;
  for (std::int64_t i = 1; i <= 12; ++i) problem.knobs.knobs[0].values.push_back(12 + i);
  for (const std::size_t clock : {1U, 2U}) {
    std::vector<std::int64_t>& values = problem.knobs.knobs[clock].values;
    values.clear();
    for (std::int64_t i = 1; i <= 26; ++i) values.push_back(i * 50'000);
  }
  LuaPolicy policy("gp.lua", "gp.next() gp.next() measure(safe)", orin_model());
  EXPECT_EQ(policy.start(problem.context()).what, Request::What::measure) << policy.failure();
}

// More settings of a batch size than there are never were over the cap: none waits.
TEST(Gp, TakesAnyNumberOfSettingsOverTheCap) {
  OrinProblem problem(Kind::infer);
  problem.goal.power_mw = 30'000;
  LuaPolicy policy(
      "gp.lua",
      "local first = gp.next { power_odds = 0.5, safest = 0 }\n"
      "gp.learn { setting = first.setting, ok = false, reason = 'over_limit', "
      "limit_w = goal.power_w }\n"
      "local function batch(over)\n"
      "  return gp.next { power_odds = 0.5, safest = 0, most_over = over }.setting.infer_batch\n"
      "end\n"
      "log(string.format('%s', batch(nil) == batch(1e20)))\n",
      orin_model());
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), "true") << policy.failure();
}

TEST(Gp, CannotBeAskedForEver) {
  EXPECT_NE(failure_of("while true do gp.next() end").find("instructions"), std::string::npos);
}

TEST(Gp, ForgetsNothingOfOneRunAndAllOfTheLast) {
  const OrinProblem problem;
  LuaPolicy policy("gp.lua", "local first = gp.next() log(first.power_w) measure(first.setting)",
                   orin_model());
  policy.start(problem.context());
  const std::string once = policy.take_log();
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), once);
}

// Whether the only setting that there is may be measured again after the guard cut it under a cap
// of 20 W.
bool asked_again(std::int64_t cap_mw) {
  OrinProblem problem;
  for (Knob& knob : problem.knobs.knobs) knob.values.resize(1);
  problem.goal.power_mw = cap_mw;
  LuaPolicy policy("gp.lua",
                   "gp.learn { setting = gp.next().setting, reason = 'over_limit', limit_w = 20 }\n"
                   "log(tostring(gp.next { safest = 0 } ~= nil))",
                   orin_model());
  policy.start(problem.context());
  EXPECT_EQ(policy.failure(), "");
  return policy.take_log() == "true";
}

// What the other of two settings is expected to draw after one was cut under a cap of 20 W.
double expected_w(const std::string& cut_at_w, const std::string& before = "") {
  OrinProblem problem;
  for (Knob& knob : problem.knobs.knobs) knob.values.resize(knob.name == "gpu_mhz" ? 2 : 1);
  problem.goal.power_mw = 20'000;
  LuaPolicy policy(
      "gp.lua",
      "local first = gp.next { safest = 0 }.setting\n" + before +
          "gp.learn { setting = first, reason = 'over_limit', limit_w = 20, cut_at_w = " +
          cut_at_w + " }\nlog(gp.next { safest = 0 }.power_w)",
      orin_model());
  policy.start(problem.context());
  EXPECT_EQ(policy.failure(), "");
  return std::atof(policy.take_log().c_str());
}

TEST(Gp, LearnsWhatWasReadOfASettingThatWasCut) {
  const double nothing = expected_w("math.huge");
  EXPECT_GT(expected_w("40"), 1.3 * nothing);
  EXPECT_EQ(expected_w("nil"), nothing);
  EXPECT_EQ(expected_w("20.5"), nothing) << "may be noise";
}

// Of large and few batches windows of power are of one or of none.
TEST(Gp, OneNoisyAnswerRulesNoOtherSettingOut) {
  const auto likeliest = [](const char* margin_w) {
    const OrinProblem problem;
    LuaPolicy policy("gp.lua",
                     "gp.learn { setting = safe, ok = true, minibatch_ms = 400, power_w = 10, "
                     "power_margin_w = " +
                         std::string(margin_w) + " }\nlog(tostring(gp.next { safest = 0 }.odds))",
                     orin_model());
    policy.start(problem.context());
    EXPECT_EQ(policy.failure(), "");
    return std::atof(policy.take_log().c_str());
  };
  EXPECT_LT(likeliest("1.5"), likeliest("0"));
  EXPECT_GT(likeliest("6"), 0.9);
}

TEST(Gp, MeasuresAgainWhatALowerCapCut) {
  EXPECT_FALSE(asked_again(15'000));
  EXPECT_FALSE(asked_again(20'000));
  EXPECT_TRUE(asked_again(20'001));
  EXPECT_TRUE(asked_again(40'000));
}

// What the script holds in a world, and how far that is from the best.
double excess(const OrinProblem& problem, const std::optional<BoardModel>& known,
              std::int64_t cap_mw, SearchOutcome& outcome) {
  const BoardModel board = *orin_model();
  ProfileWorld world = problem.world(board);
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), known);
  outcome = world.run(policy, cap_mw);
  EXPECT_TRUE(outcome.failure.empty()) << outcome.failure;
  if (!outcome.held) return INFINITY;
  EXPECT_LE(world.truth(outcome.setting).power_mean_mw, cap_mw);
  const SettingGrid grid(problem.context(), board.highest);
  double least = INFINITY;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Observation truth = world.truth(grid.setting(i));
    if (truth.power_mean_mw <= cap_mw) least = std::min(least, truth.value(problem.goal));
  }
  return world.truth(outcome.setting).value(problem.goal) / least - 1;
}

TEST(BayesScript, FindsTheBestOfAModelledWorkloadInTenProbes) {
  double sum = 0;
  for (const std::int64_t cap_mw : {18'000, 22'000, 27'000, 33'000, 40'000}) {
    SearchOutcome outcome;
    const double one = excess(OrinProblem(), orin_model(), cap_mw, outcome);
    EXPECT_LT(one, 0.1) << cap_mw;
    EXPECT_LE(outcome.measurements, 10) << cap_mw;
    EXPECT_LE(outcome.over_limit, 4) << cap_mw;
    sum += one;
  }
  EXPECT_LT(sum / 5, 0.02);
}

TEST(BayesScript, ManagesWithoutAModelOfTheBoard) {
  for (const std::int64_t cap_mw : {22'000, 33'000}) {
    SearchOutcome outcome;
    EXPECT_LT(excess(OrinProblem(), std::nullopt, cap_mw, outcome), 0.5) << cap_mw;
  }
}

TEST(BayesScript, SavesEnergyWithoutACap) {
  OrinProblem problem;
  problem.goal = {Objective::energy, std::nullopt};
  SearchOutcome outcome;
  EXPECT_LT(excess(problem, orin_model(), 1'000'000, outcome), 0.05);
}

TEST(BayesScript, SaysSoAfterAFewProbesWhereNothingFits) {
  SearchOutcome outcome;
  excess(OrinProblem(), orin_model(), 8'000, outcome);
  EXPECT_FALSE(outcome.held);
  EXPECT_LE(outcome.measurements, 3);
}

TEST(BayesScript, HoldsTheOnlyModeOfABoard) {
  OrinProblem problem;
  for (Knob& knob : problem.knobs.knobs) knob.values.resize(1);
  SearchOutcome outcome;
  EXPECT_EQ(excess(problem, orin_model(), 30'000, outcome), 0);
  EXPECT_EQ(outcome.measurements, 1);
}

TEST(BayesScript, SurvivesModesThatAreNotApplied) {
  const BoardModel board = *orin_model();
  const OrinProblem problem;
  ProfileWorld world(problem, [&](const Setting& setting) {
    ModelMode mode = model_mode(problem.knobs, setting.mode, board.highest);
    // One in five settings runs at the lowest GPU clock whatever was asked for.
    const std::int64_t sum = setting.mode.values[0] + setting.mode.values[2] / 1000;
    if (sum % 5 == 0) mode.gpu_ghz = 0.31875;
    return OrinProblem::cost(board, mode, 16);
  });
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), board);
  const SearchOutcome outcome = world.run(policy, 30'000);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_LE(world.truth(outcome.setting).power_mean_mw, 30'000);
}

TEST(BayesScript, StartsFromATableOfAnotherWorkload) {
  const BoardModel board = *orin_model();
  OrinProblem problem;
  Profile table(problem.knobs);
  table.device = "jetson-agx-orin";
  table.workload = "other";
  const SettingGrid grid(problem.context(), board.highest);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Demand demand{.A = 60, .B = 100, .L = 40, .P = 140, .O = 6, .workers = 4, .kg = 10};
    const MinibatchCost cost =
        minibatch_cost(board.parameters[index(Kind::train)], demand, grid.mode(i));
    ASSERT_TRUE(
        table.add({grid.setting(i).mode, 16, cost.minibatch_ms, cost.power_w, std::nullopt}));
  }
  PolicyContext context = problem.context();
  const Profile* tables[] = {&table};
  context.prior = tables;
  LuaPolicy policy("gp.lua",
                   "local p = gp.next { power_odds = 0.5 } log(p.power_w) return p.setting", board);
  const Request request = policy.start(context);
  ASSERT_EQ(request.what, Request::What::hold) << policy.failure();
  const double told_w = std::stod(policy.take_log());
  const double true_w =
      OrinProblem::cost(board, model_mode(problem.knobs, request.setting.mode, board.highest), 16)
          .power_w;
  EXPECT_NEAR(told_w, true_w, 0.1 * true_w);
}

}  // namespace
}  // namespace gearshift
