// The baseline scripts as they ship.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "tests/fakes/nearest_transfer.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/policy_problem.h"
#include "tests/policies/profile_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

using What = Request::What;

TEST(MaxnScript, HoldsTheHighestModeWhateverTheCap) {
  PolicyProblem problem;
  problem.goal.power_mw = 1;
  const Request request = LuaPolicy("maxn.lua", script_text("maxn.lua")).start(problem.context());
  ASSERT_EQ(request.what, What::hold);
  EXPECT_EQ(request.setting.mode, problem.knobs.highest());
  EXPECT_EQ(request.setting.batch_size[0], 16);
}

TEST(FixedScript, HoldsTheMiddleWhereNothingIsWritten) {
  const PolicyProblem problem;
  const Request request = LuaPolicy("fixed.lua", script_text("fixed.lua")).start(problem.context());
  ASSERT_EQ(request.what, What::hold);
  EXPECT_EQ(request.setting, (Setting{{{4, 624'750}, 2}, {16, 0}, Run::train}));
}

TEST(FixedScript, HoldsWhatIsWrittenOrTheNextValueBelow) {
  std::string text = script_text("fixed.lua");
  const std::string open = "local wanted = {";
  text.insert(text.find(open) + open.size(), "cpu_cores = 7, gpu_mhz = 1300.5, train_batch = 64,");
  const PolicyProblem problem;
  LuaPolicy policy("fixed.lua", text);
  const Request request = policy.start(problem.context());
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting, (Setting{{{4, 1'300'500}, 2}, {64, 0}, Run::train}));
}

// The searches, each in its own way.
class SearchScript : public testing::TestWithParam<std::string> {};

TEST_P(SearchScript, SaysWhenNothingKeepsTheCap) {
  const PolicyProblem problem;
  LuaPolicy policy(GetParam(), script_text(GetParam()));
  Request request = policy.start(problem.context());
  int measurements = 0;
  while (request.what == What::measure && measurements < 100) {
    ++measurements;
    request = policy.resume(cut_short(request.setting, Outcome::over_limit));
  }
  EXPECT_EQ(request.what, What::hold_safe) << policy.failure();
  EXPECT_EQ(policy.take_log(), "nothing measured keeps the goal");
}

// Whatever goes wrong with every second measurement, the search ends and holds a measured setting.
TEST_P(SearchScript, CopesWithMeasurementsThatFail) {
  const PolicyProblem problem;
  for (const Outcome outcome : {Outcome::refused, Outcome::timed_out, Outcome::power_unknown}) {
    LuaPolicy policy(GetParam(), script_text(GetParam()));
    Request request = policy.start(problem.context());
    int measurements = 0;
    while (request.what == What::measure && measurements < 100) {
      const double gpu = static_cast<double>(request.setting.mode.values[1]);
      request = policy.resume(++measurements % 2 == 0 ? cut_short(request.setting, outcome)
                                                      : complete(request.setting, 1e7 / gpu, 20));
    }
    EXPECT_EQ(request.what, What::hold) << policy.failure();
  }
}

TEST_P(SearchScript, NeedsNoCap) {
  PolicyProblem problem;
  problem.goal.power_mw = std::nullopt;
  LuaPolicy policy(GetParam(), script_text(GetParam()));
  Request request = policy.start(problem.context());
  for (int i = 0; i < 100 && request.what == What::measure; ++i) {
    const double gpu = static_cast<double>(request.setting.mode.values[1]);
    request = policy.resume(complete(request.setting, 1e7 / gpu, gpu / 2e4));
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting.mode.values[1], 1'300'500);
}

// Five knobs of forty values each.
PolicyProblem large_problem() {
  PolicyProblem problem;
  problem.modes.clear();
  problem.knobs.knobs.clear();
  for (const char* name : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz", "more_mhz"}) {
    problem.knobs.knobs.push_back({name, Unit::khz, KnobClass::clock, {}});
    for (std::int64_t i = 1; i <= 40; ++i) problem.knobs.knobs.back().values.push_back(i * 50'000);
  }
  return problem;
}

// Without a cap nothing prunes the settings that the search thinks about.
TEST_P(SearchScript, KeepsItsInstructionsOnLargeBoards) {
  const PolicyProblem problem = large_problem();
  ProfileWorld world(problem, [](const Setting& setting) {
    double minibatch_ms = setting.batch_size[0];
    for (int i = 0; i < 5; ++i) {
      minibatch_ms += 1e6 / static_cast<double>(setting.mode.values[static_cast<std::size_t>(i)]);
    }
    return TrueCost{minibatch_ms, 20};
  });
  LuaPolicy policy(GetParam(), script_text(GetParam()));
  const SearchOutcome outcome = world.run(policy, 1'000'000'000);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode, problem.knobs.highest());
  EXPECT_EQ(outcome.setting.batch_size[0], 64);
}

TEST_P(SearchScript, KeepsItsInstructionsOnLargeBoardsUnderACap) {
  const PolicyProblem problem = large_problem();
  ProfileWorld world(problem, [](const Setting& setting) {
    TrueCost cost{1.0 * setting.batch_size[0], 10};
    for (std::size_t i = 0; i < 5; ++i) {
      const double value = static_cast<double>(setting.mode.values[i]) / 1e6;
      cost.minibatch_ms += static_cast<double>(i + 1) / value;
      cost.power_w += value * static_cast<double>(9 - i);
    }
    return cost;
  });
  for (const std::int64_t cap_mw : {60'000, 40'000, 20'000}) {
    LuaPolicy policy(GetParam(), script_text(GetParam()));
    const SearchOutcome outcome = world.run(policy, cap_mw);
    EXPECT_TRUE(outcome.held) << cap_mw << ' ' << outcome.failure;
    EXPECT_TRUE(!outcome.held || world.truth(outcome.setting).within(cap_mw)) << cap_mw;
  }
}

TEST_P(SearchScript, SaysWhenNoBatchIsFullInTime) {
  PolicyProblem problem;
  problem.trainer.kind = Kind::infer;
  problem.goal = {Objective::latency, 30'000, Duration(100'000'000), 20};  // 8 take 0.4 s to come
  LuaPolicy policy(GetParam(), script_text(GetParam()));
  EXPECT_EQ(policy.start(problem.context()).what, What::hold_safe) << policy.failure();
  EXPECT_NE(policy.take_log().find("no batch size is full in time"), std::string::npos);
}

TEST_P(SearchScript, ServesABoardWithAPowerLimitAlone) {
  PolicyProblem problem;
  problem.knobs.knobs = {{"power_limit_w", Unit::mw, KnobClass::power_limit, {}}};
  for (std::int64_t limit_mw = 100'000; limit_mw <= 250'000; limit_mw += 25'000) {
    problem.knobs.knobs[0].values.push_back(limit_mw);
  }
  problem.modes.clear();
  ProfileWorld world(problem, [](const Setting& setting) {
    const double limit_w = static_cast<double>(setting.mode.values[0]) / 1e3;
    return TrueCost{(setting.batch_size[0] + 8) * 1e3 / limit_w, limit_w};
  });
  LuaPolicy policy(GetParam(), script_text(GetParam()));
  const SearchOutcome outcome = world.run(policy, 180'000);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode.values[0], 175'000);
  EXPECT_EQ(outcome.setting.batch_size[0], 64);
}

TEST(ShippedScripts, BayesLooksAgainWhereOnlyAnUnusualMarginIsOverTheCap) {
  const PolicyProblem problem;  // 30 W
  for (const std::int64_t margin_mw : {1'700, 1'800}) {
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
    const Request first = policy.start(problem.context());
    ASSERT_EQ(first.what, What::measure);
    Observation answer = complete(first.setting, 10, 29);
    answer.power_margin_mw = margin_mw;  // 6 % are 1.74 W
    const Request next = policy.resume(answer);
    ASSERT_EQ(policy.failure(), "");
    EXPECT_EQ(next.what == What::remeasure, margin_mw == 1'800) << margin_mw;
    EXPECT_EQ(next.setting == first.setting, margin_mw == 1'800) << margin_mw;
    if (margin_mw != 1'800) continue;
    answer.power_margin_mw = margin_mw;
    const Request after = policy.resume(answer);
    EXPECT_NE(after.setting, first.setting) << "once is enough";
  }
}

// A GPU that this user may not set: an H200 training ResNet-18, measured.
TEST(ShippedScripts, BayesGoesUpToTheCapWhereTheBatchSizeIsAllThereIs) {
  PolicyProblem problem;
  problem.knobs.knobs.clear();
  problem.modes = {PowerMode{}};
  problem.trainer.batch_sizes = {16, 64, 256, 512};
  const std::map<std::int32_t, TrueCost> costs{
      {16, {9.31, 192}}, {64, {9.19, 402}}, {256, {20.25, 579}}, {512, {38, 640}}};
  const auto cost = [&](const Setting& setting) { return costs.at(setting.batch_size[0]); };
  const std::pair<std::int64_t, std::int32_t> caps[] = {
      {276'000, 16}, {473'000, 64}, {603'000, 256}, {700'000, 512}};
  for (const auto& [cap_mw, best] : caps) {
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
    const SearchOutcome outcome = ProfileWorld(problem, cost).run(policy, cap_mw);
    ASSERT_TRUE(outcome.held) << outcome.failure;
    EXPECT_EQ(outcome.setting.batch_size[0], best);
    EXPECT_LE(outcome.over_limit, 1) << cap_mw;
  }
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  const SearchOutcome none = ProfileWorld(problem, cost).run(policy, 150'000);
  EXPECT_FALSE(none.held);
  EXPECT_EQ(none.over_limit, 1);
}

// What a lower cap cut says nothing of a higher one.
TEST(ShippedScripts, BayesGoesUpAgainOnceTheCapHasRisen) {
  PolicyProblem problem;
  problem.knobs.knobs.clear();
  problem.modes = {PowerMode{}};
  ProfileWorld world(problem, [](const Setting& setting) {
    const double samples = setting.batch_size[0];
    return TrueCost{5 + 0.3 * samples, 100 + 4 * samples};  // 132, 164, 228 and 356 W
  });
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  EXPECT_EQ(world.run(policy, 150'000).setting.batch_size[0], 8) << policy.failure();
  EXPECT_EQ(world.run(policy, 250'000).setting.batch_size[0], 32) << policy.failure();
  EXPECT_EQ(world.run(policy, 500'000).setting.batch_size[0], 64) << policy.failure();
  EXPECT_EQ(world.run(policy, 500'000).measurements, 0) << policy.failure();
}

// The power in the log is the setting's, and no price.
TEST(ShippedScripts, BayesTellsThePowerOfItsChoiceApartFromThePriceOfTime) {
  PolicyProblem problem;
  problem.goal = {.objective = Objective::target, .priced_power_mw = 60'000};
  ProfileWorld world(problem, [](const Setting&) { return TrueCost{10, 20}; });
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"));
  ASSERT_TRUE(world.run(policy).held) << policy.failure();
  std::string log;
  for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) log += line;
  EXPECT_NE(log.find("J a sample (time has a price) at 20.0 W"), std::string::npos) << log;
  EXPECT_EQ(log.find("priced at"), std::string::npos) << log;
}

// A value is seconds, joules or neither, by the objective.
TEST(ShippedScripts, TellTheUnitOfWhatTheyChose) {
  const std::pair<Objective, std::string> units[] = {
      {Objective::energy, " J a sample at "},
      {Objective::weighted, " of the reference's cost at "},
      {Objective::target, " J a sample (time has a price) at "}};
  for (const char* name : {"bayes.lua", "binary_search.lua", "gradient.lua"}) {
    for (const auto& [objective, unit] : units) {
      PolicyProblem problem;
      problem.goal = {.objective = objective, .reference_s = 0.001, .reference_j = 0.02};
      problem.goal.priced_power_mw = 60'000;
      ProfileWorld world(problem, [](const Setting&) { return TrueCost{10, 20}; });
      LuaPolicy policy(name, script_text(name));
      ASSERT_TRUE(world.run(policy).held) << name << ": " << policy.failure();
      std::string log;
      for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) {
        log += line;
      }
      EXPECT_NE(log.find(unit), std::string::npos) << name << ": " << log;
    }
  }
}

// Training beside requests that leave it no time in some settings, or in all: measured, and no
// minibatch.
TEST(ShippedScripts, CopeWithSettingsInWhichRequestsLeaveNoTimeToTrain) {
  const PolicyProblem problem;
  Workload server = problem.trainer;
  server.kind = Kind::infer;
  server.name = BoundedText<64>("mobilenet_v3");
  PolicyContext context = problem.context();
  context.workloads[index(Kind::infer)] = &server;
  for (const char* name : {"bayes.lua", "binary_search.lua", "full_sweep.lua", "gradient.lua",
                           "linear.lua", "linear_inverse.lua", "ogd.lua", "preset_measured.lua",
                           "random.lua", "roofline.lua", "thompson.lua"}) {
    for (const int trains_from : {0, 1, 5, 200}) {
      LuaPolicy policy(name, script_text(name), built_in_board_model("jetson-agx-orin"));
      Request request = policy.start(context);
      for (int i = 0; i < 100 && request.what == What::measure; ++i) {
        const double gpu = static_cast<double>(request.setting.mode.values[1]);
        Observation answer = complete(request.setting, 1e7 / gpu, 20, Kind::infer);
        const bool trains = i >= trains_from && (i - trains_from) % 2 == 0;
        if (trains) answer.cost[index(Kind::train)] = answer.cost[index(Kind::infer)];
        request = policy.resume(answer);
      }
      EXPECT_EQ(policy.failure(), "") << name << ", training from answer " << trains_from;
    }
  }
}

TEST(ShippedScripts, ThatKnowOneWorkloadSaySoWhereTrainingBesideRequestsIsTheGoal) {
  const PolicyProblem problem;
  const NearestTransfer transfer;
  Workload server = problem.trainer;
  server.kind = Kind::infer;
  PolicyContext context = problem.context();
  context.goal.objective = Objective::throughput;
  for (const char* name :
       {"linear.lua", "linear_inverse.lua", "powertrain.lua", "roofline.lua", "thompson.lua"}) {
    LuaPolicy alone(name, script_text(name), built_in_board_model("jetson-agx-orin"), &transfer);
    EXPECT_EQ(alone.start(context).what,
              name == std::string("thompson.lua") ? What::remeasure : What::measure)
        << name << " with a trainer alone: " << alone.failure();
    PolicyContext both = context;
    both.workloads[index(Kind::infer)] = &server;
    LuaPolicy beside(name, script_text(name), built_in_board_model("jetson-agx-orin"));
    EXPECT_EQ(beside.start(both).what, What::failed) << name;
    EXPECT_NE(beside.failure().find("one workload, not for training beside inference"),
              std::string::npos)
        << name << ": " << beside.failure();
  }
}

// While a search falls back to what fitted best, the guard may cut that too.
TEST(BinarySearchScript, ChoosesTheNextBestWhereTheBestHasGoneOverTheCapSince) {
  const PolicyProblem problem;
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  std::vector<Setting> asked, again;
  Request request = policy.start(problem.context());
  while (request.what == What::measure && asked.size() < 100) {
    const Setting& setting = request.setting;
    const bool known = std::find(asked.begin(), asked.end(), setting) != asked.end();
    if (known) again.push_back(setting);
    if (!known) asked.push_back(setting);
    const double speed = static_cast<double>(setting.mode.values[0] * setting.mode.values[1]);
    const double minibatch_ms = 1e8 / speed * (8 + setting.batch_size[0]);
    request = policy.resume(known && again.size() == 1 ? cut_short(setting, Outcome::over_limit)
                                                       : complete(setting, minibatch_ms, 20));
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_NE(again[0], again[1]);
  EXPECT_EQ(request.setting, again[1]);
}

// Measurements until the first that keeps the cap.
int measurements_to_fit(ProfileWorld& world, std::int64_t cap_mw) {
  const std::size_t known = world.problem().observations.size();
  LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
  EXPECT_TRUE(world.run(policy, cap_mw).held) << cap_mw;
  const std::vector<Observation>& all = world.problem().observations;
  std::size_t at = known;
  while (at < all.size() && !all[at].ok()) ++at;
  return static_cast<int>(at + 1 - known);
}

// Power that grows with a power of the clock: at the exponent 1 as the models of the search have
// it, at 3 far above what they foretell from the settings that are known, which are all over the
// cap.
ProfileWorld clocked_world(int exponent) {
  PolicyProblem problem;
  problem.modes.clear();
  problem.knobs.knobs.clear();
  problem.trainer.batch_size_count = 0;
  for (const char* name : {"cpu_mhz", "gpu_mhz", "mem_mhz"}) {
    problem.knobs.knobs.push_back({name, Unit::khz, KnobClass::clock, {}});
    for (int i = 1; i <= 20; ++i) problem.knobs.knobs.back().values.push_back(i * 100'000);
  }
  return {problem, [exponent](const Setting& setting) {
            TrueCost cost{20, 10};
            for (std::size_t i = 0; i < 3; ++i) {
              const double share = static_cast<double>(setting.mode.values[i]) / 2e6;
              cost.minibatch_ms += 20 * static_cast<double>(i + 1) / share;
              cost.power_w += 15 * std::pow(share, exponent);
            }
            return cost;
          }};
}

TEST(BinarySearchScript, FitsACapThatNothingKnownKeepsNoLaterThanFromScratch) {
  for (const int exponent : {1, 2, 3}) {
    for (const std::int64_t before_mw : {50'000, 45'000, 40'000}) {
      for (const std::int64_t after_mw : {30'000, 25'000, 20'000, 15'000}) {
        ProfileWorld world = clocked_world(exponent);
        measurements_to_fit(world, before_mw);
        const auto& known = world.problem().observations;
        if (std::any_of(known.begin(), known.end(),
                        [&](const Observation& one) { return one.ok() && one.within(after_mw); })) {
          continue;
        }
        ProfileWorld fresh = clocked_world(exponent);
        EXPECT_LE(measurements_to_fit(world, after_mw), measurements_to_fit(fresh, after_mw))
            << before_mw << " to " << after_mw << " mW, exponent " << exponent;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scripts, SearchScript,
                         testing::Values("binary_search.lua", "gradient.lua", "bayes.lua"),
                         [](const auto& script) {
                           return script.param.substr(0, script.param.find('.'));
                         });

}  // namespace
}  // namespace gearshift
