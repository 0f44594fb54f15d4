// The roofline module as scripts see it.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

std::optional<BoardModel> orin_board_model() { return built_in_board_model("jetson-agx-orin"); }

// What a script logs, or how it failed; `answer` is given to every question.
std::string model_said(const std::string& text, const PolicyContext& context,
                       std::optional<BoardModel> board = orin_board_model()) {
  LuaPolicy policy("model.lua", text, std::move(board));
  Request request = policy.start(context);
  for (int i = 0; i < 8 && request.what == Request::What::measure; ++i) {
    request = policy.resume(complete(request.setting, 100 + 10 * i, 20 + i));
  }
  return policy.failure().empty() ? policy.take_log() : std::string(policy.failure());
}

std::string model_said(const std::string& text) {
  return model_said(text, PolicyProblem().context());
}

TEST(RooflineOfScripts, FitsWhatWasMeasured) {
  PolicyProblem problem;
  EXPECT_EQ(model_said("measure(modes[1]) measure(modes[4]) log(roofline.fit().rows)"), "2");
  // What was known before the run counts too, and each answer once.
  problem.observations.push_back(complete({problem.modes[5], {16, 0}, Run::train}, 80, 25));
  EXPECT_EQ(model_said("measure(modes[1]) log(roofline.fit().rows)", problem.context()), "2");
  EXPECT_EQ(model_said("local a = measure(modes[1]) log(roofline.fit({a, a, a}).rows)"), "3");
  // One that failed says nothing, and one that the guard cut says that it draws more than its cap.
  problem.observations = {cut_short({problem.modes[5], {16, 0}, Run::train}, Outcome::stalled),
                          cut_short({problem.modes[4], {16, 0}, Run::train}, Outcome::over_limit)};
  problem.observations[1].limit_mw = 30'000;
  EXPECT_EQ(model_said("log(roofline.fit().rows)", problem.context()), "1");
}

TEST(RooflineOfScripts, FitsTheTimesOfWhatAnsweredLate) {
  PolicyProblem problem;
  problem.trainer.kind = Kind::infer;
  Observation late = cut_short({problem.modes[5], {0, 16}, Run::infer}, Outcome::late);
  Cost& cost = late.cost[index(Kind::infer)];
  cost.minibatch_mean = std::chrono::milliseconds(50);
  cost.minibatches = 7;
  problem.observations = {late};
  EXPECT_EQ(model_said("log(roofline.fit().rows .. roofline.fit({observations[1]}).rows)",
                       problem.context()),
            "00")
      << "the first began in another mode";
  problem.observations[0].cost[index(Kind::infer)].minibatches = 8;
  EXPECT_EQ(model_said("log(roofline.fit().rows .. roofline.fit({observations[1]}).rows)",
                       problem.context()),
            "11");
}

TEST(RooflineOfScripts, FitsThatWhatAnsweredLateIsSlower) {
  PolicyProblem problem;
  problem.trainer.kind = Kind::infer;
  problem.goal = {Objective::energy, 30'000, std::chrono::milliseconds(500), 60};
  problem.observations = {cut_short({problem.modes[5], {0, 16}, Run::infer}, Outcome::late)};
  const auto rows = [&problem](const char* known) {
    return model_said(std::string("log(roofline.fit(") + known + ").rows)", problem.context());
  };
  EXPECT_EQ(rows("nil") + rows("{observations[1]}"), "00") << "late at no rate that is known";
  problem.observations[0].late_per_s = 60;
  EXPECT_EQ(rows("nil") + rows("{observations[1]}"), "11");
  for (const char* known : {"nil", "{observations[1]}"}) {
    const std::string fit = std::string("local fit = roofline.fit(") + known + ")\n";
    EXPECT_EQ(model_said(fit + "local one = observations[1]\n"
                               "local p = roofline.predict(fit, one.setting)\n"
                               "log(tostring(p.minibatch_ms > 0.9 * one.slower_than_ms and "
                               "roofline.predict(roofline.fit({}), one.setting).minibatch_ms < "
                               "0.7 * one.slower_than_ms))",
                         problem.context()),
              "true")
        << known;
  }
}

TEST(RooflineOfScripts, PredictsWhatItMeasured) {
  EXPECT_EQ(
      model_said("local a = measure(modes[3])\n"
                 "local p = roofline.predict(roofline.fit({a}), a.setting)\n"
                 "log(tostring(p.minibatch_ms > 95 and p.minibatch_ms < 105 and p.power_w > 19 and "
                 "p.power_w < 21 and p.value == p.minibatch_ms / 1e3 / 16))"),
      "true");
}

TEST(RooflineOfScripts, MakesSurfacesToChooseFrom) {
  const std::string surface =
      "for i = 1, 6, 2 do measure(modes[i]) end\nlocal s = roofline.surface(roofline.fit())\n";
  EXPECT_EQ(model_said(surface +
                       "local best, p = s:best() local again = s:at(best)\n"
                       "log(tostring(p.minibatch_ms == again.minibatch_ms and p.power_w <= 30))"),
            "true");
  EXPECT_EQ(
      model_said(surface + "local best = s:best() s:exclude(best) local next = s:best()\n"
                           "log(tostring(next ~= nil and not (next.gpu_mhz == best.gpu_mhz and "
                           "next.cpu_cores == best.cpu_cores and "
                           "next.train_batch == best.train_batch)))"),
      "true");
  EXPECT_EQ(model_said(surface + "log(tostring(s:best({power_w = 0.1})))"), "nil");
  EXPECT_EQ(model_said(surface + "local front = s:front()\nfor i = 2, #front do\n"
                                 "assert(s:at(front[i - 1]).power_w <= s:at(front[i]).power_w)\n"
                                 "assert(s:at(front[i - 1]).value >= s:at(front[i]).value) end\n"
                                 "log(tostring(#front > 1))"),
            "true");
  EXPECT_EQ(model_said(surface + "log(s:least_known({power_w = 40, deviations = 1}).run)"),
            "train");
}

// What the guard cut is known while the cap is no higher than it was then.
TEST(RooflineOfScripts, SurfacesOfferAgainWhatALowerCapCut) {
  PolicyProblem problem;
  for (const PowerMode& mode : problem.modes) {
    for (const std::int32_t batch : {8, 16, 32, 64}) {
      Observation cut = cut_short({mode, {batch, 0}, Run::train}, Outcome::over_limit);
      cut.limit_mw = 20'000;
      problem.observations.push_back(cut);
    }
  }
  const auto offered = [&](std::int64_t cap_mw) {
    problem.goal.power_mw = cap_mw;
    return model_said(
        "local s = roofline.surface(roofline.fit({})) s:exclude_known()\n"
        "log(tostring(s:best({power_w = 1000}) ~= nil))",
        problem.context());
  };
  EXPECT_EQ(offered(15'000), "false");
  EXPECT_EQ(offered(20'000), "false");
  EXPECT_EQ(offered(20'001), "true");
}

TEST(RooflineOfScripts, ReadsTheTablesMeasuredBefore) {
  PolicyProblem problem;
  Profile table({problem.knobs});
  table.device = "orin_agx";
  table.workload = "other";
  for (std::size_t i = 0; i < problem.modes.size(); ++i) {
    const double step = static_cast<double>(i);
    ASSERT_TRUE(table.add({problem.modes[i], 16, 200 / (1 + step), 15 + step, {}}));
  }
  Profile elsewhere = table;
  elsewhere.device = "a board that nobody knows";
  const std::array<const Profile*, 2> tables{&elsewhere, &table};
  PolicyContext context = problem.context();
  context.prior = tables;
  EXPECT_EQ(model_said("log(roofline.prior().rows)", context), "6");
  context.prior = std::span(tables).first(1);
  EXPECT_EQ(model_said("log(tostring(roofline.prior()))", context), "nil");
  EXPECT_EQ(model_said("log(tostring(roofline.prior()))"), "nil");
}

// Of a longer table some rows count, spread over all of it: here the others are absurd.
TEST(RooflineOfScripts, ReadsSoManyRowsOfATableAtMost) {
  KnobSpace knobs{{{"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4, 5, 6}},
                   {"gpu_mhz", Unit::khz, KnobClass::clock, {}},
                   {"mem_mhz", Unit::khz, KnobClass::memory, {}}}};
  for (std::int64_t i = 1; i <= 100; ++i) {
    knobs.knobs[1].values.push_back(10'000 * i);
    knobs.knobs[2].values.push_back(30'000 * i);
  }
  const std::vector<std::size_t> counted = prior_rows(60'000);
  ASSERT_EQ(counted.size(), kMostPriorRows);
  Profile table(knobs);
  table.device = "jetson-agx-orin";
  table.workload = "other";
  for (std::size_t i = 0, next = 0; i < 60'000; ++i) {
    const auto at = [&](std::size_t knob, std::size_t by) {
      const std::vector<std::int64_t>& values = knobs.knobs[knob].values;
      return values[i / by % values.size()];
    };
    const PowerMode mode{{at(0, 1), at(1, 600), at(2, 6)}, 3};
    const double ghz = static_cast<double>(mode.values[1]) / 1e6;
    const bool counts = next < counted.size() && counted[next] == i;
    next += counts ? 1 : 0;
    ASSERT_TRUE(table.add({mode, 16, 100 / ghz, counts ? 12 + 10 * ghz : 9e5, {}}));
  }
  const Profile* tables[] = {&table};
  PolicyProblem problem;
  PolicyContext context = problem.context();
  context.prior = tables;
  EXPECT_EQ(model_said("log(tostring(roofline.prior().power_error < 0.1))", context), "true");
  EXPECT_EQ(model_said("log(tostring(gp.next().power_w < 100))", context), "true");
}

TEST(RooflineOfScripts, KnowsWhetherTheBoardHasAModel) {
  const PolicyProblem problem;
  EXPECT_EQ(model_said("log(tostring(roofline.known))"), "true");
  EXPECT_EQ(model_said("log(tostring(roofline.known))", problem.context(), std::nullopt), "false");
  const std::string error = model_said("roofline.fit()", problem.context(), std::nullopt);
  EXPECT_NE(error.find("no model of this board is known"), std::string::npos) << error;
}

TEST(RooflineOfScripts, HoldsFourSurfacesAtATime) {
  EXPECT_EQ(model_said("local m, s = roofline.fit(), nil\n"
                       "for i = 1, 40 do s = roofline.surface(m) end log('made')"),
            "made");
  const std::string error =
      model_said("local m, s = roofline.fit(), {}\nfor i = 1, 5 do s[i] = roofline.surface(m) end");
  EXPECT_NE(error.find("4 surfaces are in use"), std::string::npos) << error;
}

TEST(RooflineOfScripts, SaysWhatIsWrong) {
  const auto says = [](const std::string& text, const std::string& message) {
    const std::string error = model_said(text);
    EXPECT_NE(error.find(message), std::string::npos) << text << ": " << error;
  };
  says("roofline.fit(3)", "roofline.fit: expected a list of answers, or nil");
  says("roofline.fit({3})", "roofline.fit: answer 1: expected an answer of measure, got number");
  says("roofline.fit({{setting = {}}})", "roofline.fit: answer 1: setting: cpu_cores is missing");
  says("roofline.fit(nil, 4)", "roofline.fit: expected a model of roofline.fit, got number");
  says("roofline.predict({}, safe)", "expected a model of roofline.fit, got table");
  says("roofline.predict(roofline.fit(), {})", "roofline.predict: cpu_cores is missing");
  says("roofline.surface(1)", "roofline.surface: expected a model");
  const std::string surface = "local s = roofline.surface(roofline.fit()) ";
  says(surface + "s.best()",
       "surface:best: expected a surface, got no value; call it with a colon");
  says(surface + "s:best(3)", "surface:best: expected a table of options, {power_w = 20}");
  says(surface + "s:best({power_w = 'much'})", "surface:best: power_w: expected a number above 0");
  says(surface + "s:best({power_w = -1})", "surface:best: power_w: expected a number above 0");
  says(surface + "s:best({powr_w = 3})",
       "surface:best: unknown term 'powr_w': the terms are deviations, power_w, time_deviations");
  says(surface + "s:front({deviations = 1e9})",
       "surface:front: deviations: expected a number from -100");
  says(surface + "s:at({})", "surface:at: cpu_cores is missing");
  says(surface + "s.best = 3", "attempt to index");
}

TEST(RooflineOfScripts, LookingIsNotFree) {
  const std::string model = "local f = roofline.fit({measure(modes[3])})\n";
  const std::string surface = model + "local s = roofline.surface(f)\n";
  for (const std::string& look : {model + "for i = 1, 2e5 do local a = f.A end",
                                  surface + "for i = 1, 1e5 do local a = s:at(safe) end",
                                  surface + "for i = 1, 1e5 do s:exclude(safe) end"}) {
    EXPECT_NE(model_said(look + " log('at the end')").find("spent its"), std::string::npos) << look;
  }
}

TEST(RooflineOfScripts, SpendsTheBudget) {
  const std::string error = model_said("while true do roofline.surface(roofline.fit()) end");
  EXPECT_NE(error.find("spent its 2000000 instructions"), std::string::npos) << error;
}

}  // namespace
}  // namespace gearshift
