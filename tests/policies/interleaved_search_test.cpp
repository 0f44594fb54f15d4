// Whole searches for most training beside inference, by the scripts that ship and by others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "policies/lua/lua_policy.h"
#include "policies/numerics/interleaved_probe.h"
#include "tests/policies/interleaved_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

struct Searched {
  Request request;
  int probes = 0;
  Observation held;
  std::vector<Observation> measured;
};

Searched search(const InterleavedProblem& problem, const char* script = "bayes.lua") {
  LuaPolicy policy(script, script_text(script), problem.board);
  Searched searched;
  searched.request = policy.start(problem.context());
  while (searched.request.what == Request::What::measure && searched.probes < 30) {
    ++searched.probes;
    searched.measured.push_back(problem.measured(searched.request.setting));
    searched.request = policy.resume(searched.measured.back());
  }
  EXPECT_EQ(policy.failure(), "");
  if (searched.request.what == Request::What::hold) {
    searched.held = problem.measured(searched.request.setting);
  }
  return searched;
}

TEST(InterleavedSearch, ComesNearTheOptimumWithinItsProbes) {
  for (const double rate : {15.0, 30.0, 60.0}) {
    InterleavedProblem problem;
    problem.goal.arrivals_per_s = rate;
    const Searched searched = search(problem);
    ASSERT_EQ(searched.request.what, Request::What::hold) << rate;
    EXPECT_LE(searched.probes, 12);
    EXPECT_TRUE(searched.held.keeps(problem.goal));
    EXPECT_EQ(searched.held.setting.run, Run::both);
    EXPECT_GT(1 / searched.held.value(problem.goal), 0.9 * problem.optimum()) << rate;
  }
}

TEST(InterleavedSearch, ByGradientBacktracksTheBatchOfRequests) {
  for (const double rate : {15.0, 30.0, 60.0}) {
    InterleavedProblem problem;
    problem.goal.arrivals_per_s = rate;
    const Searched searched = search(problem, "gradient.lua");
    ASSERT_EQ(searched.request.what, Request::What::hold) << rate;
    EXPECT_LE(searched.probes, 16) << rate;
    EXPECT_TRUE(searched.held.keeps(problem.goal)) << rate;
    EXPECT_GT(1 / searched.held.value(problem.goal), 0.6 * problem.optimum()) << rate;
    // The largest batch that is full within 0.8 s comes first.
    const double most = 0.8 * rate;
    const std::int32_t first = searched.measured.front().setting.batch_size[index(Kind::infer)];
    EXPECT_LT(first, most) << rate;
    EXPECT_GE(4 * first, most) << rate;
  }
}

// Halving goes up in every knob; in a batch that is never full in time it would end in nothing.
TEST(InterleavedSearch, ByHalvesTriesNoBatchOfRequestsThatIsNeverInTime) {
  InterleavedProblem problem;
  problem.server.batch_sizes = {1, 4, 16, 32};
  problem.server.batch_size_count = 4;
  problem.goal.arrivals_per_s = 1;
  problem.goal.latency = std::chrono::seconds(2);
  for (const bool one_by_one : {false, true}) {
    problem.goal.one_by_one = one_by_one;
    const Searched searched = search(problem, "binary_search.lua");
    ASSERT_EQ(searched.request.what, Request::What::hold);
    EXPECT_TRUE(searched.held.keeps(problem.goal));
    for (const Observation& answer : searched.measured) {
      EXPECT_EQ(answer.setting.batch_size[index(Kind::infer)], 1) << one_by_one;
    }
  }
  problem.goal.latency = std::chrono::milliseconds(1200);
  EXPECT_EQ(search(problem, "binary_search.lua").request.what, Request::What::hold)
      << "half of a batch of 1 comes in 0.5 s";
  problem.goal.one_by_one = false;
  problem.goal.latency = std::chrono::seconds(1);
  EXPECT_EQ(search(problem, "binary_search.lua").request.what, Request::What::hold_safe);
}

TEST(InterleavedSearch, ByHalvesGoesDownFromTheLargestBatchThatIsFullInTime) {
  InterleavedProblem problem;
  problem.goal.arrivals_per_s = 20;  // 16 come in 0.8 s
  for (const int latency_ms : {1500, 801}) {
    problem.goal.latency = std::chrono::milliseconds(latency_ms);
    const Searched searched = search(problem, "binary_search.lua");
    ASSERT_EQ(searched.request.what, Request::What::hold) << latency_ms;
    EXPECT_EQ(searched.measured.front().setting.batch_size[index(Kind::infer)], 16);
    EXPECT_TRUE(searched.held.keeps(problem.goal)) << latency_ms;
    EXPECT_GT(1 / searched.held.value(problem.goal), 0.6 * problem.optimum()) << latency_ms;
  }
}

// One by one, a batch need not be full in time: half of one has to be.
TEST(InterleavedSearch, OneByOneNeedsNoFullBatchInTime) {
  for (const char* script : {"bayes.lua", "gradient.lua"}) {
    InterleavedProblem problem;
    problem.server.batch_sizes = {16};
    problem.server.batch_size_count = 1;
    problem.server.batch_size = 16;
    problem.goal.arrivals_per_s = 20;  // 16 come in 0.8 s
    problem.goal.latency = std::chrono::milliseconds(750);
    EXPECT_EQ(search(problem, script).request.what, Request::What::hold_safe);
    problem.goal.one_by_one = true;
    const Searched searched = search(problem, script);
    ASSERT_EQ(searched.request.what, Request::What::hold) << script;
    EXPECT_TRUE(searched.held.keeps(problem.goal)) << script;
    EXPECT_GT(1 / searched.held.value(problem.goal), 0.6 * problem.optimum()) << script;
  }
}

// Whole minibatches count beside requests: value is no sum of time and energy, and two answers do
// not tell what a third can cost. The best here has fewer cores, and is faster all the same.
TEST(InterleavedSearch, FullSweepLeavesOutNoBetterSettingBesideRequests) {
  PolicyProblem problem;
  problem.trainer.batch_size_count = 0;
  problem.goal = {.objective = Objective::throughput, .power_mw = 30'000, .arrivals_per_s = 10};
  Workload server = problem.trainer;
  server.kind = Kind::infer;
  server.name = BoundedText<64>("mobilenet_v3");
  server.batch_sizes = {8, 16};
  server.batch_size_count = 2;
  PolicyContext context = problem.context();
  context.workloads[index(Kind::infer)] = &server;
  const std::map<std::pair<std::int64_t, std::int64_t>, TrueCost> train{
      {{1'300'500, 8}, {90, 40}}, {{1'300'500, 4}, {100, 25}}, {{624'750, 8}, {145, 24}},
      {{624'750, 4}, {88, 20}},   {{306'000, 8}, {300, 19}},   {{306'000, 4}, {310, 18}}};
  LuaPolicy policy("full_sweep.lua", script_text("full_sweep.lua"));
  Request request = policy.start(context);
  for (int i = 0; i < 20 && request.what == Request::What::measure; ++i) {
    const Setting& setting = request.setting;
    const auto& [train_ms, power_w] = train.at({setting.mode.values[1], setting.mode.values[0]});
    Observation answer = complete(setting, train_ms, power_w);
    answer.cost[index(Kind::infer)].minibatches = 20;
    answer.cost[index(Kind::infer)].minibatch_mean =
        std::chrono::milliseconds(10) * setting.batch_size[index(Kind::infer)];
    request = policy.resume(power_w < 30 ? answer : cut_short(setting, Outcome::over_limit));
  }
  ASSERT_EQ(request.what, Request::What::hold) << policy.failure();
  EXPECT_EQ(request.setting.mode, (PowerMode{{4, 624'750}, 2}));
}

// Requests that leave no setting a window for a training minibatch.
struct NothingTrains : InterleavedProblem {
  NothingTrains(double rate, int latency_ms) {
    goal.arrivals_per_s = rate;
    goal.latency = std::chrono::milliseconds(latency_ms);
    EXPECT_EQ(optimum(), 0);
  }
  // A search that holds a setting which keeps the goal.
  Searched holds() const {
    Searched searched = search(*this);
    EXPECT_EQ(searched.request.what, Request::What::hold);
    EXPECT_TRUE(searched.held.keeps(goal));
    return searched;
  }
};

TEST(InterleavedSearch, HoldsASettingThatAnswersInTimeWhereNothingTrains) {
  NothingTrains(30, 60).holds();  // only batch 1, every 33 ms
}

TEST(InterleavedSearch, ByDescentHoldsASettingThatAnswersInTimeWhereNothingTrains) {
  const NothingTrains problem(30, 60);
  LuaPolicy policy("ogd.lua", script_text("ogd.lua"), problem.board);
  Request request = policy.start(problem.context());
  for (int i = 0; i < 1000 && request.what == Request::What::remeasure; ++i) {
    request = policy.resume(problem.measured(request.setting));
  }
  ASSERT_EQ(request.what, Request::What::hold) << policy.failure();
  EXPECT_TRUE(problem.measured(request.setting).keeps(problem.goal));
}

double busy_s_per_request(const Observation& answer) {
  return seconds(answer.cost[index(Kind::infer)].minibatch_mean) /
         answer.setting.batch_size[index(Kind::infer)];
}

TEST(InterleavedSearch, HoldsWhatIsLeastBusyOfTheMeasuredWhereNothingTrains) {
  const NothingTrains problem(90, 500);
  const Searched searched = problem.holds();
  int kept = 0;
  for (const Observation& answer : searched.measured) {
    if (!answer.keeps(problem.goal)) continue;
    ++kept;
    EXPECT_LE(busy_s_per_request(searched.held), busy_s_per_request(answer) * (1 + 1e-9));
  }
  EXPECT_GT(kept, 1);
}

// What is left to look for is time for requests that come in bursts.
TEST(InterleavedSearch, LooksForTimeBetweenRequestsWhereNothingTrains) {
  const NothingTrains problem(90, 200);
  const Searched searched = problem.holds();
  EXPECT_LE(searched.probes, 12);
  double least_s = 1;
  const SettingGrid grid(problem.context(), highest_mode(&problem.board), kMostGridSettings,
                         Kind::infer);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Observation answer = problem.measured(grid.setting(i));
    if (answer.keeps(problem.goal)) least_s = std::min(least_s, busy_s_per_request(answer));
  }
  EXPECT_LE(busy_s_per_request(searched.held), 1.1 * least_s);
}

// What the world says of every mode, as a table that the workload of the kind took on another day.
Profile own_table(const InterleavedProblem& problem, Kind kind) {
  Profile table(problem.knobs);
  table.device = "jetson-agx-orin";
  table.workload = "lenet";
  table.kind = kind;
  const SettingGrid grid(problem.context(), highest_mode(&problem.board), kMostGridSettings, kind);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const Setting setting = grid.setting(i);
    const std::int32_t batch = kind == Kind::train ? 16 : setting.batch_size[index(kind)];
    const TrueCost cost = OrinProblem::cost(
        problem.board, model_mode(problem.knobs, setting.mode, problem.board.highest), batch, kind);
    EXPECT_TRUE(table.add({setting.mode, batch, cost.minibatch_ms, cost.power_w, std::nullopt}));
  }
  return table;
}

// Where even the likeliest setting answers late, the next one need not be as slow: the tables say
// which fast ones fit.
TEST(InterleavedSearch, TakesWhatItsOwnTablesPromiseOnceTheSafestSettingWasLate) {
  InterleavedProblem problem;
  problem.goal.one_by_one = true;
  const double optimum = problem.optimum();
  const Profile train = own_table(problem, Kind::train), infer = own_table(problem, Kind::infer);
  problem.prior = {&train, &infer};
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), problem.board);
  Request request = policy.start(problem.context());
  ASSERT_EQ(request.what, Request::What::measure);
  Observation late = problem.measured(request.setting);
  late.outcome = Outcome::late;
  request = policy.resume(late);
  ASSERT_EQ(request.what, Request::What::measure) << policy.failure();
  EXPECT_GT(1 / problem.measured(request.setting).value(problem.goal), 0.6 * optimum);
}

// A cap between the least that serves while training waits, and the least that does while it runs.
struct NothingFitsBeside : InterleavedProblem {
  explicit NothingFitsBeside(std::int64_t clocks = 4) {
    for (std::size_t k : {1, 2}) {
      std::vector<std::int64_t>& values = knobs.knobs[k].values;
      const std::int64_t least = values.front(), most = values.back();
      values.clear();
      for (std::int64_t i = 0; i < clocks; ++i) {
        values.push_back(least + i * (most - least) / (clocks - 1));
      }
    }
    trains_dearer = 1.4;
    goal.one_by_one = true;
    goal.power_mw = 1'000'000;
    double beside_w = 1e3, alone_w = 1e3;
    const SettingGrid grid(context(), highest_mode(&board), kMostGridSettings, Kind::infer);
    for (std::size_t i = 0; i < grid.size(); ++i) {
      Setting setting = grid.setting(i);
      for (double* const least_w : {&beside_w, &alone_w}) {
        const Observation answer = measured(setting);
        const double power_w = static_cast<double>(answer.power_mean_mw) / 1e3;
        if (answer.keeps(goal)) *least_w = std::min(*least_w, power_w);
        setting.run = Run::infer;
      }
    }
    EXPECT_LT(alone_w, 0.95 * beside_w);
    goal.power_mw = std::llround(1e3 * (0.2 * alone_w + 0.8 * beside_w));
    EXPECT_LT(optimum(), 0);
  }
};

TEST(InterleavedSearch, ServesRequestsAloneWhereNothingKeepsTheGoalWithTrainingBeside) {
  const NothingFitsBeside problem;
  const Searched searched = search(problem);
  ASSERT_EQ(searched.request.what, Request::What::hold);
  EXPECT_EQ(searched.held.setting.run, Run::infer);
  EXPECT_TRUE(searched.held.keeps(problem.goal));
  EXPECT_LE(searched.probes, 20) << "twelve, and eight for what serves alone";
  int beside = 0;
  for (const Observation& answer : searched.measured) {
    if (answer.setting.run == Run::infer) break;
    ++beside;
  }
  EXPECT_EQ(beside, 4) << "before what hardly promises to train, requests are to be served";
}

TEST(InterleavedSearch, HoldsWhatIsKnownToServeAloneAgain) {
  NothingFitsBeside problem;
  problem.observations = search(problem).measured;
  const std::size_t before = problem.observations.size();
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), problem.board);
  Request request = policy.start(problem.context());
  for (int i = 0; i < 30 && request.what == Request::What::measure; ++i) {
    EXPECT_EQ(request.setting.run, Run::both) << "what serves alone is known";
    request = policy.resume(problem.measured(request.setting));
  }
  ASSERT_EQ(request.what, Request::What::hold) << policy.failure();
  EXPECT_EQ(request.setting.run, Run::infer);
  EXPECT_GT(before, 4U);
}

// Of windows between which requests leave pauses the mean alone keeps the cap.
TEST(InterleavedSearch, LeavesWhatIsOverTheCapInSomeWindows) {
  NothingFitsBeside problem;
  LuaPolicy policy("bayes.lua", script_text("bayes.lua"), problem.board);
  Request request = policy.start(problem.context());
  std::vector<Observation> within;
  for (int i = 0; i < 30 && request.what == Request::What::measure; ++i) {
    Observation answer = problem.measured(request.setting);
    const bool alone = answer.ok() && request.setting.run == Run::infer;
    if (alone && answer.keeps(problem.goal)) {
      if (within.empty()) answer.power_max_mw = *problem.goal.power_mw + 1;
      within.push_back(answer);
    }
    request = policy.resume(answer);
  }
  ASSERT_GE(within.size(), 2U) << policy.failure();
  ASSERT_EQ(request.what, Request::What::hold);
  EXPECT_NE(request.setting, within.front().setting);
}

// Even a search that starts over with all that may be recalled has instructions for this.
TEST(InterleavedSearch, StartsOverWithAllThatIsKnownWithinItsInstructions) {
  NothingFitsBeside problem(16);  // what asking costs depends on the size of the grid, up to here
  const SettingGrid grid(problem.context(), highest_mode(&problem.board), kMostGridSettings,
                         Kind::infer);
  for (std::size_t i = 0; i < 400; ++i) {
    const Observation answer = problem.measured(grid.setting(i * (grid.size() / 400)));
    if (!answer.keeps(problem.goal)) problem.observations.push_back(answer);
  }
  ASSERT_GE(problem.observations.size(), 256U);
  const Searched searched = search(problem);
  EXPECT_NE(searched.request.what, Request::What::failed);
  bool alone = false;
  for (const Observation& answer : searched.measured) {
    alone = alone || answer.setting.run == Run::infer;
  }
  EXPECT_TRUE(alone);
}

TEST(InterleavedSearch, AsksForWhatServesAloneOnlyWhereTrainingRunsBeside) {
  const InterleavedProblem problem;
  for (const char* text :
       {"gp.next { run = 'train' }", "gp.next { run = 1 }", "gp.next { run = 'both' }"}) {
    LuaPolicy policy("run.lua", text, problem.board);
    EXPECT_EQ(policy.start(problem.context()).what, Request::What::failed);
    EXPECT_NE(policy.failure().find("gp.next: run: expected \"infer\""), std::string::npos)
        << policy.failure();
  }
  const OrinProblem training;
  LuaPolicy policy("run.lua", "gp.next { run = 'infer' }", problem.board);
  EXPECT_EQ(policy.start(training.context()).what, Request::What::failed);
  EXPECT_NE(policy.failure().find("only where training beside inference"), std::string::npos);
}

TEST(InterleavedSearch, FindsNothingWhereNothingAnswersInTime) {
  InterleavedProblem problem;
  problem.goal.latency = std::chrono::milliseconds(30);
  EXPECT_EQ(search(problem).request.what, Request::What::hold_safe);
}

TEST(InterleavedDimensions, EndWithTheInferenceBatch) {
  const InterleavedProblem problem;
  LuaPolicy policy("d.lua", "log(dimensions[#dimensions].name) return nil", problem.board);
  policy.start(problem.context());
  EXPECT_EQ(policy.take_log(), "infer_batch");
}

}  // namespace
}  // namespace gearshift
