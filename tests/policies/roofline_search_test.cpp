// scripts/roofline.lua: whole searches, on the model, on measured profiles, and where all goes
// wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/measured_problem.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

using What = Request::What;

LuaPolicy shipped(const char* board = "jetson-agx-orin") {
  return {"roofline.lua", script_text("roofline.lua"), built_in_board_model(board)};
}

TEST(RooflineSearch, SaysWhenNothingKeepsTheCap) {
  const PolicyProblem problem;
  LuaPolicy policy = shipped();
  Request request = policy.start(problem.context());
  int measurements = 0;
  while (request.what == What::measure && measurements < 100) {
    ++measurements;
    Observation answer = cut_short(request.setting, Outcome::over_limit);
    answer.limit_mw = 30'000;
    request = policy.resume(answer);
  }
  EXPECT_EQ(request.what, What::hold_safe) << policy.failure();
  EXPECT_EQ(policy.take_log(),
            "nothing that was predicted keeps the goal: the list of modes is halved instead");
  EXPECT_EQ(policy.take_log(), "nothing measured keeps the goal");
  EXPECT_EQ(policy.take_log(), "");
  EXPECT_LE(measurements, 12);
}

TEST(RooflineSearch, EndsWhereTheLowestModeIsOverTheCapAndNoBatchIsSmaller) {
  PolicyProblem problem;
  problem.trainer.batch_size_count = 0;
  LuaPolicy policy = shipped();
  Request request = policy.start(problem.context());
  Setting last;
  while (request.what == What::measure) {
    last = request.setting;
    Observation answer = cut_short(request.setting, Outcome::over_limit);
    answer.limit_mw = 30'000;
    request = policy.resume(answer);
  }
  EXPECT_EQ(request.what, What::hold_safe) << policy.failure();
  EXPECT_EQ(last.mode, problem.knobs.lowest()) << "nothing was tried after it";
  EXPECT_EQ(policy.take_log(), "nothing measured keeps the goal");
  EXPECT_EQ(policy.take_log(), "");
}

// Batches of 16 draw too much in every mode: none but the lowest is tried with smaller ones.
TEST(RooflineSearch, TriesSmallerBatchesWhereTheLowestModeIsOverTheCap) {
  const PolicyProblem problem;
  LuaPolicy policy = shipped();
  Request request = policy.start(problem.context());
  std::vector<Setting> asked;
  while (request.what == What::measure && asked.size() < 30) {
    asked.push_back(request.setting);
    const bool fits = request.setting == Setting{problem.knobs.lowest(), {8, 0}, Run::train};
    Observation answer =
        fits ? complete(request.setting, 400, 25) : cut_short(request.setting, Outcome::over_limit);
    answer.limit_mw = 30'000;
    request = policy.resume(answer);
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting.batch_size[index(Kind::train)], 8);
  std::string log;
  for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) log = line;
  EXPECT_EQ(log, "chose 0.05 s a sample at 25.0 W");
}

// The board draws less than half of what the model says: no mode is expected below the cap.
TEST(RooflineSearch, HalvesTheListOfModesWhereNoPredictionKeepsTheGoal) {
  const BoardModel board = *built_in_board_model("jetson-agx-orin");
  OrinProblem problem(Kind::infer);
  for (const std::int64_t gpu : problem.knobs.knobs[2].values) {
    for (const std::int64_t cpu : problem.knobs.knobs[1].values) {
      for (const std::int64_t cores : problem.knobs.knobs[0].values) {
        problem.modes.push_back({{cores, cpu, gpu, 2'133'000}, 4});
      }
    }
  }
  problem.goal = {Objective::latency, 9'000, Duration(80'000'000), 30};
  ProfileWorld world(problem, [&](const Setting& setting) {
    const TrueCost cost =
        OrinProblem::cost(board, model_mode(problem.knobs, setting.mode, board.highest),
                          setting.batch_size[index(Kind::infer)], Kind::infer);
    return TrueCost{cost.minibatch_ms, 0.4 * cost.power_w};
  });
  LuaPolicy policy = shipped();
  const SearchOutcome outcome = world.run(policy);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_TRUE(world.truth(outcome.setting).keeps(problem.goal));
}

// The board draws 2.5 times what the model says: none but the lowest mode is below the cap.
TEST(RooflineSearch, AsksForTheSafeSettingBeforeItHalvesTheList) {
  const BoardModel board = *built_in_board_model("jetson-agx-orin");
  const OrinProblem problem;
  const auto cost = [&](const Setting& setting) {
    const ModelMode mode = model_mode(problem.knobs, setting.mode, board.highest);
    const TrueCost one = OrinProblem::cost(board, mode, 16);
    return TrueCost{one.minibatch_ms, 2.5 * one.power_w};
  };
  ProfileWorld world(problem, cost);
  const Setting lowest{problem.knobs.lowest(), {16, 0}, Run::train};
  LuaPolicy policy = shipped();
  const SearchOutcome outcome =
      world.run(policy, static_cast<std::int64_t>(1010 * cost(lowest).power_w));
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting, lowest);
  const std::string log = policy.take_log();
  EXPECT_EQ(log.find("fitted to"), 0U) << log;
}

TEST(RooflineSearch, CopesWithMeasurementsThatFail) {
  const PolicyProblem problem;
  for (const Outcome outcome : {Outcome::refused, Outcome::timed_out, Outcome::power_unknown}) {
    LuaPolicy policy = shipped();
    Request request = policy.start(problem.context());
    std::vector<Setting> measured;
    for (int i = 0; request.what == What::measure && i < 100; ++i) {
      const double gpu = static_cast<double>(request.setting.mode.values[1]);
      if (i % 2 == 1) measured.push_back(request.setting);
      request = policy.resume(i % 2 == 0 ? cut_short(request.setting, outcome)
                                         : complete(request.setting, 1e7 / gpu, 20));
    }
    ASSERT_EQ(request.what, What::hold) << policy.failure();
    EXPECT_NE(std::find(measured.begin(), measured.end(), request.setting), measured.end());
  }
}

TEST(RooflineSearch, LearnsFirstWhereWhatIsKnownTellsNothing) {
  PolicyProblem problem;
  const Setting first = shipped().start(problem.context()).setting;
  for (int i = 0; i < 6; ++i) {
    const Setting other{problem.modes[static_cast<std::size_t>(i)], {8, 0}, Run::train};
    problem.observations.push_back(cut_short(other, Outcome::goal_changed));
  }
  LuaPolicy policy = shipped();
  EXPECT_EQ(policy.start(problem.context()).setting, first);
  // What was measured is learnt from, and the best of it is verified at once.
  for (Observation& known : problem.observations) {
    known = complete(known.setting, 1e7 / static_cast<double>(known.setting.mode.values[1]), 20);
  }
  EXPECT_NE(policy.start(problem.context()).setting, first);
}

TEST(RooflineSearch, NeedsNoCap) {
  PolicyProblem problem;
  problem.goal.power_mw = std::nullopt;
  LuaPolicy policy = shipped();
  Request request = policy.start(problem.context());
  for (int i = 0; i < 100 && request.what == What::measure; ++i) {
    const double gpu = static_cast<double>(request.setting.mode.values[1]);
    request = policy.resume(complete(request.setting, 1e7 / gpu, gpu / 2e4));
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting.mode.values[1], 1'300'500);
}

TEST(RooflineSearch, HalvesTheListOfModesOfABoardWithoutAModel) {
  const PolicyProblem problem;
  LuaPolicy policy("roofline.lua", script_text("roofline.lua"));
  Request request = policy.start(problem.context());
  EXPECT_NE(policy.take_log().find("no model of this board is known"), std::string::npos);
  for (int i = 0; i < 100 && request.what == What::measure; ++i) {
    const double gpu = static_cast<double>(request.setting.mode.values[1]);
    request = policy.resume(gpu > 1e6 ? cut_short(request.setting, Outcome::over_limit)
                                      : complete(request.setting, 1e7 / gpu, gpu / 3e4));
  }
  ASSERT_EQ(request.what, What::hold) << policy.failure();
  EXPECT_EQ(request.setting.mode.values[1], 624'750);
}

// A board of four knobs with so many cores and twenty values of each clock.
PolicyProblem twenty_values_each() {
  PolicyProblem problem;
  problem.modes.clear();
  problem.knobs.knobs.clear();
  for (const char* name : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"}) {
    problem.knobs.knobs.push_back({name, Unit::khz, KnobClass::clock, {}});
    for (std::int64_t i = 1; i <= 20; ++i) problem.knobs.knobs.back().values.push_back(i * 100'000);
  }
  problem.knobs.knobs[0].unit = Unit::count;
  for (std::int64_t i = 0; i < 20; ++i)
    problem.knobs.knobs[0].values[static_cast<std::size_t>(i)] = i + 1;
  return problem;
}

TrueCost of_clocks(const Setting& setting) {
  TrueCost one{2.0 * setting.batch_size[0], 10};
  for (std::size_t i = 1; i < 4; ++i) {
    const double value = static_cast<double>(setting.mode.values[i]) / 1e6;
    one.minibatch_ms += setting.batch_size[0] / value;
    one.power_w += 5 * value;
  }
  return one;
}

// A board of more settings than a surface has, three tables measured before, and many answers
// known: the dearest first decision that there can be.
TEST(RooflineSearch, KeepsItsInstructionsOnTheLargestBoards) {
  PolicyProblem problem = twenty_values_each();
  Profile table(problem.knobs);
  table.device = "jetson-agx-orin";
  for (std::int64_t i = 1; i <= 20; ++i) {
    for (std::int64_t j = 1; j <= 20; ++j) {
      const PowerMode mode{{4, i * 100'000, j * 100'000, 2'000'000}, 4};
      const TrueCost one = of_clocks({mode, {16, 0}, Run::train});
      ASSERT_TRUE(table.add({mode, 16, one.minibatch_ms, one.power_w, {}}));
    }
  }
  const std::array<const Profile*, 3> tables{&table, &table, &table};
  for (const std::size_t cores : {20, 3}) {
    if (cores == 3) problem.trainer.batch_size_count = 0;  // 24,000 settings, all of them predicted
    problem.knobs.knobs[0].values.resize(cores);
    for (int known : {0, 5, 24, 100}) {
      PolicyProblem again = problem;
      for (int i = 0; i < known; ++i) {
        Setting setting{problem.knobs.lowest(), {16, 0}, Run::train};
        setting.mode.values[1] = problem.knobs.knobs[1].values[static_cast<std::size_t>(i % 20)];
        setting.mode.values[2] = problem.knobs.knobs[2].values[static_cast<std::size_t>(i / 20)];
        const TrueCost one = of_clocks(setting);
        again.observations.push_back(complete(setting, one.minibatch_ms, one.power_w));
      }
      PolicyContext context = again.context();
      context.prior = tables;
      LuaPolicy policy = shipped();
      Request request = policy.start(context);
      for (int i = 0; i < 100 && request.what == What::measure; ++i) {
        const TrueCost one = of_clocks(request.setting);
        request = policy.resume(complete(request.setting, one.minibatch_ms, one.power_w));
      }
      EXPECT_EQ(request.what, What::hold) << cores << ' ' << known << ": " << policy.failure();
    }
  }
}

// Nothing is sure to fit: what was predicted for learning serves for what is verified too.
TEST(RooflineSearch, KeepsItsInstructionsWhereHardlyAnythingFits) {
  PolicyProblem problem = twenty_values_each();
  problem.knobs.knobs[0].values.resize(3);
  problem.trainer.batch_size_count = 0;
  for (const std::int64_t cap_mw : {11'400, 11'600, 12'000, 12'500, 13'000}) {
    ProfileWorld world(problem, of_clocks);
    LuaPolicy policy = shipped();
    const SearchOutcome outcome = world.run(policy, cap_mw);
    EXPECT_EQ(outcome.failure, "") << cap_mw;
  }
}

TEST(RooflineSearch, FindsNearlyTheBestOfTheModelledBoard) {
  const BoardDescription& board = *find_board("jetson-agx-orin", built_in_boards());
  const WorkloadParameters& truth = board.find_workload("mobilenet_v3", Kind::train)->second;
  PolicyProblem problem;
  problem.knobs = board.knob_space();
  problem.modes = modes_by_power(board, problem.knobs);
  problem.trainer.batch_size_count = 0;
  const ModelMode highest = model_mode(problem.knobs, problem.knobs.highest(), {});
  ProfileWorld world(problem, [&](const Setting& setting) {
    const MinibatchCost cost =
        minibatch_cost(board.parameters(Kind::train), truth.demand(setting.batch_size[0]),
                       model_mode(problem.knobs, setting.mode, highest));
    return TrueCost{cost.minibatch_ms, cost.power_w};
  });
  for (const std::int64_t cap_mw : {20'000, 30'000, 40'000}) {
    world.problem().observations.clear();
    LuaPolicy policy = shipped();
    const SearchOutcome outcome = world.run(policy, cap_mw);
    ASSERT_TRUE(outcome.held) << outcome.failure;
    EXPECT_LE(outcome.measurements, 10);
    double optimum = 1e9;
    for (const PowerMode& mode : problem.modes) {
      const Observation one = world.truth({mode, {16, 0}, Run::train});
      if (one.within(cap_mw)) optimum = std::min(optimum, one.sample_s(Kind::train));
    }
    const Observation chosen = world.truth(outcome.setting);
    EXPECT_TRUE(chosen.within(cap_mw));
    EXPECT_LT(chosen.sample_s(Kind::train) / optimum, 1.03) << cap_mw;
  }
}

TEST(RooflineSearch, HoldsWhatKeepsTheCapOnMeasuredBoards) {
  std::vector<double> excess;
  for (const char* workload : {"resnet", "mobnet", "lstm"}) {
    const MeasuredTable table(std::string("agx_orin_") + workload + "_train", Kind::train);
    if (table.empty()) GTEST_SKIP() << no_measured_data();
    const Figures figures = search_every_goal(table, train_goals(), [] { return shipped(); });
    EXPECT_EQ(figures.solved, figures.solvable) << workload;
    EXPECT_EQ(figures.broken + figures.failed, 0) << workload;
    EXPECT_LE(mean(figures.measurements), 10) << workload;
    excess.insert(excess.end(), figures.excess_percent.begin(), figures.excess_percent.end());
  }
  EXPECT_LE(median(excess), 2);
  EXPECT_LE(mean(excess), 6);
}

}  // namespace
}  // namespace gearshift
