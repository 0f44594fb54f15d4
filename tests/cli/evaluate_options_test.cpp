#include "cli/evaluate_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/evaluation/problems.h"

namespace gearshift {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

struct EvaluateOptionsTest : testing::Test {
  CLI::App command;
  EvaluateOptions options;

  EvaluateOptionsTest() { add_evaluate_flags(command, options); }

  std::string error_of(const std::string& spec) {
    options.spec = "grid.toml";
    try {
      apply_evaluate_spec(spec, command, options);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }
};

// Of a command that has a profile and a policy.
std::string refused_with(EvaluateOptions options) {
  options.profile = {"a.csv"};
  options.policy = {"a.lua"};
  try {
    check_evaluate_options(options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::string refused(const std::string& text) {
  try {
    parse_numbers("--caps", text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Numbers, AreRangesWithBothEndsOrLists) {
  EXPECT_EQ(parse_numbers("--caps", "10:50:1").size(), 41u);
  EXPECT_THAT(parse_numbers("--rate", "30:90:30"), ElementsAre(30, 60, 90));
  EXPECT_THAT(parse_numbers("--rate", "0.2:0.45:0.1"), ElementsAre(0.2, 0.3, 0.4));
  EXPECT_THAT(parse_numbers("--caps", "15.5,10"), ElementsAre(15.5, 10));
  EXPECT_THAT(parse_numbers("--caps", "30"), ElementsAre(30));
  EXPECT_EQ(parse_numbers("--latency-ms", "200:2000:100").size(), 19u);
}

TEST(Numbers, AreRefusedWithTheirTextAndTheForms) {
  EXPECT_THAT(refused("10:50"), HasSubstr("--caps '10:50': a range has three numbers; give FROM"));
  for (const char* text : {"", "a", "10,", "10:50:", "10:50:0", "50:10:1", "-5", "0", "1e3", "nan",
                           "10:50:1:2", "10;20", "10 ", "1:1000000:1", "99999999999"}) {
    EXPECT_NE(refused(text), "") << text;
  }
}

TEST_F(EvaluateOptionsTest, TakesFromASpecWhatNoFlagSays) {
  command.parse("--caps 20,30 --policy flag.lua", false);
  EXPECT_EQ(error_of("profile = \"a.csv\"\npolicy = [\"b.lua\", \"c.lua\"]\ncaps = \"10:50:1\"\n"
                     "keep = [\"cpu_cores=4,8\"]\nseeds = 5\nproblem = \"infer\"\n"),
            "");
  EXPECT_THAT(options.profile, ElementsAre("a.csv"));
  EXPECT_THAT(options.policy, ElementsAre("flag.lua"));
  EXPECT_THAT(options.keep, ElementsAre("cpu_cores=4,8"));
  EXPECT_EQ(options.caps, "20,30");
  EXPECT_EQ(options.seeds, 5u);
  EXPECT_EQ(options.problem, "infer");
}

TEST_F(EvaluateOptionsTest, ReadsAListOfPoliciesEitherWay) {
  EXPECT_EQ(error_of("policy = \"b.lua,c.lua\""), "");
  EXPECT_THAT(options.policy, ElementsAre("b.lua", "c.lua"));
  EXPECT_EQ(error_of("policy = [\"d.lua\"]"), "");
  EXPECT_THAT(options.policy, ElementsAre("d.lua"));
  EXPECT_EQ(error_of("requests = \"poisson,trace:x.csv\""), "");
  EXPECT_THAT(options.requests, ElementsAre("poisson", "trace:x.csv"));
}

TEST_F(EvaluateOptionsTest, NamesFileLineAndKeyOfWhatItRefuses) {
  EXPECT_THAT(error_of("\ncap = \"10\""), HasSubstr("grid.toml:2: unknown key cap; known"));
  EXPECT_THAT(error_of("caps = 10"), HasSubstr("grid.toml:1: caps must be a string"));
  EXPECT_THAT(error_of("seeds = 0"), HasSubstr("seeds must be an integer from 1 to 10000"));
  EXPECT_THAT(error_of("policy = [1]"), HasSubstr("policy must be a string"));
  EXPECT_THAT(error_of("spec = \"other.toml\""), HasSubstr("unknown key spec"));
  EXPECT_THAT(error_of("= 3"), HasSubstr("grid.toml:1: "));
}

TEST_F(EvaluateOptionsTest, MakesEveryCombinationOfTheLimits) {
  EXPECT_EQ(make_problems(options).size(), 41u);
  EXPECT_EQ(make_problems(options)[5], train_problem(15'000));
  EXPECT_EQ(effects_of(options), "none");
  options.problem = "infer";
  options.latency_ms = "50:150:10";
  options.rate = "30:90:5";
  const std::vector<Problem> problems = make_problems(options);
  EXPECT_EQ(problems.size(), 5863u);
  EXPECT_EQ(problems[1], infer_problem(10'000, std::chrono::milliseconds(50), 35));
}

TEST_F(EvaluateOptionsTest, OnlineHasAProblemForEveryWeightAndCapAndNoCapUnlessAsked) {
  options.problem = "online";
  const std::vector<Problem> five = make_problems(options);
  ASSERT_EQ(five.size(), 5u);
  EXPECT_EQ(five[1], online_problem(std::nullopt, 0.25));
  EXPECT_EQ(effects_of(options), "jitter,noise");
  options.caps = "20,30";
  options.weights = "0:1:0.5";
  const std::vector<Problem> six = make_problems(options);
  ASSERT_EQ(six.size(), 6u);
  EXPECT_EQ(six[4], online_problem(30'000, 0.5));
  options.effects = "none";
  EXPECT_EQ(effects_of(options), "none");
  for (const char* weights : {"", "1.5", "-0.1", "a", "0,2", "0:0:0", "0:1:0"}) {
    options.weights = weights;
    EXPECT_THROW(make_problems(options), std::exception) << weights;
  }
}

TEST_F(EvaluateOptionsTest, RefusesProblemsThatDoNotFitTheirLimits) {
  options.problem = "infer";
  EXPECT_THROW(make_problems(options), std::runtime_error);
  options.latency_ms = "1:10000:1";
  options.rate = "1:10000:1";
  EXPECT_THROW(make_problems(options), std::runtime_error);
  options.problem = "concurrent";
  EXPECT_THROW(make_problems(options), std::runtime_error);
  EXPECT_THROW(check_evaluate_options(options), std::runtime_error);
}

TEST_F(EvaluateOptionsTest, NamesAFlagThatTheProblemWouldDrop) {
  options.problem = "drift";
  EXPECT_THAT(refused_with(options), HasSubstr("--caps 40,20"));
  options.caps = "40,20";
  EXPECT_EQ(refused_with(options), "");
  options.html = "a.html";
  EXPECT_THAT(refused_with(options), HasSubstr("--html is not for --problem drift"));
  options = {};
  options.problem = "recurring";
  options.epochs = "epochs.csv";
  EXPECT_EQ(refused_with(options), "");
  options.prior = {"b.csv"};
  EXPECT_THAT(refused_with(options), HasSubstr("--prior is not for --problem recurring"));
}

TEST_F(EvaluateOptionsTest, NamesAFlagWithADefaultThatTheProblemWouldDrop) {
  const auto refused_for = [](const std::string& problem, auto change) {
    EvaluateOptions given;
    given.problem = problem;
    if (problem == "drift") given.caps = "40,20";
    if (problem == "recurring") given.epochs = "epochs.csv";
    if (problem == "concurrent") given.infer_profile = {"b.csv"};
    change(given);
    return refused_with(given);
  };
  const auto weights = [](EvaluateOptions& o) { o.weights = "0.5"; };
  EXPECT_THAT(refused_for("drift", weights),
              HasSubstr("--weights is not for --problem drift, but for train, infer, online"));
  EXPECT_THAT(refused_for("train", weights), HasSubstr("--objective weighted"));
  EXPECT_EQ(refused_for("online", weights), "");
  EXPECT_EQ(refused_for("drift", [](EvaluateOptions& o) { o.weights = EvaluateOptions{}.weights; }),
            "");
  const auto measurements = [](EvaluateOptions& o) { o.measurements = 60; };
  EXPECT_THAT(refused_for("recurring", measurements), HasSubstr("--measurements"));
  EXPECT_EQ(refused_for("online", measurements), "");
  const auto effects = [](EvaluateOptions& o) { o.effects = "jitter"; };
  EXPECT_THAT(refused_for("recurring", effects), HasSubstr("--effects"));
  EXPECT_EQ(refused_for("drift", effects), "");
  const auto probes = [](EvaluateOptions& o) { o.probes = 12; };
  EXPECT_THAT(refused_for("recurring", probes), HasSubstr("--probes"));
  EXPECT_EQ(refused_for("concurrent", probes), "");
  EXPECT_THAT(refused_for("train", [](EvaluateOptions& o) { o.eta = 1; }), HasSubstr("--eta"));
  EXPECT_THAT(refused_for("train", [](EvaluateOptions& o) { o.minutes = 5; }),
              HasSubstr("--minutes"));
  EXPECT_THAT(refused_for("train", [](EvaluateOptions& o) { o.rate = "30"; }), HasSubstr("--rate"));
  const auto threads = [](EvaluateOptions& o) { o.threads = 2; };
  for (const char* problem : {"train", "concurrent", "online", "drift", "recurring"}) {
    EXPECT_EQ(refused_for(problem, threads), "") << problem;
  }
  EXPECT_THAT(refused_for("trains", threads), HasSubstr("allowed are train"));
  EXPECT_THAT(refused_for("", threads), HasSubstr("--problem ''"));
  EXPECT_THAT(refused_for("train infer", threads), HasSubstr("allowed are train, infer"));
  EXPECT_THAT(refused_for("recurring", [](EvaluateOptions& o) { o.board = "host"; }),
              HasSubstr("--board"));
}

TEST_F(EvaluateOptionsTest, NamesAFlagThatOnlyMissingModelTakes) {
  options.board = "jetson-agx-orin";
  EXPECT_THAT(refused_with(options), HasSubstr("--board belongs to --missing model"));
  options.missing = "nearest";
  options.model = "resnet18";
  EXPECT_THAT(refused_with(options), HasSubstr("--board belongs to --missing model"));
  options.missing = "model";
  EXPECT_EQ(refused_with(options), "");
  options = {};
  options.model = "resnet18";
  EXPECT_THAT(refused_with(options), HasSubstr("--model belongs to --missing model"));
}

TEST_F(EvaluateOptionsTest, DriftTakesTheCapAndTheOneItFallsTo) {
  options.problem = "drift";
  for (const char* caps : {"40,30,20", "10:50:1", "none", "foo", ""}) {
    options.caps = caps;
    EXPECT_THAT(refused_with(options), HasSubstr("--caps")) << caps;
  }
  options.caps = "40";
  EXPECT_EQ(refused_with(options), "");
  options.profile = {"a.csv", "b.csv", "c.csv"};
  options.policy = {"a.lua"};
  EXPECT_THROW(check_evaluate_options(options), std::runtime_error);
}

TEST_F(EvaluateOptionsTest, MakesAProblemOfEveryEnergyWeight) {
  options.objective = "weighted";
  options.weights = "0,0.25,1";
  options.caps = "none";
  const std::vector<Problem> problems = make_problems(options);
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(problems[1].goal, (Goal{.objective = Objective::weighted, .energy_weight = 0.25}));
  options.caps = "20,30";
  EXPECT_EQ(make_problems(options).size(), 6u);
}

TEST_F(EvaluateOptionsTest, RefusesObjectivesThatDoNotFitTheProblem) {
  for (const char* objective : {"target", "latency", "throughput", "speed"}) {
    options.objective = objective;
    EXPECT_THROW(make_problems(options), std::runtime_error) << objective;
  }
  options.problem = "online";
  options.objective = "energy";
  EXPECT_THROW(make_problems(options), std::runtime_error) << "online is weighted";
}

}  // namespace
}  // namespace gearshift
