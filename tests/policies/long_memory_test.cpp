// Every shipped script against the fullest memory that the controller keeps: that of a daemon which
// ran for weeks.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "boards/board_description.h"
#include "controller/memory.h"
#include "policies/lua/lua_policy.h"
#include "policies/numerics/mode_transfer.h"
#include "policies/numerics/recall.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

using What = Request::What;

constexpr std::size_t kFullest = 4096;

// Predicts by the product of the clocks, whatever was measured.
struct ProductTransfer : ModeTransfer {
  std::string objection(const KnobSpace&, std::span<const std::int32_t>) const override {
    return "";
  }
  TransferResult transfer(const Profile&,
                          std::span<const TransferSetting> settings) const override {
    TransferResult result;
    for (const TransferSetting& one : settings) {
      double product = 1e-18;
      for (std::size_t i = 1; i < one.mode.count; ++i) {
        product *= static_cast<double>(one.mode.values[i]);
      }
      result.minibatch_ms.push_back(one.batch_size / (0.1 + product));
      result.power_w.push_back(8 + 5 * product);
    }
    return result;
  }
};

// What is searched: the modes of a whole board, a smaller grid that is known as a whole, or
// training beside inference.
enum class Search : std::uint8_t { modes, batches, beside };
// How it came to be known: all measured, every second one cut short, or few again and again.
enum class Past : std::uint8_t { measured, cut_short, repeats };

struct LongProblem : OrinProblem {
  explicit LongProblem(Search what) : search(what) {
    board = built_in_board_model("jetson-agx-orin").value();
    for (const BoardDescription& one : built_in_boards()) {
      if (one.id == "jetson-agx-orin" && search == Search::modes) {
        knobs = one.knob_space();
        modes = modes_by_power(one, knobs);
      }
    }
    server.kind = Kind::infer;
    server.name = BoundedText<64>("server");
    server.batch_sizes = {1, 2, 4, 8, 16, 32, 64};
    server.batch_size_count = 7;
    server.batch_size = 4;
    server.managed = true;
    if (search == Search::batches) {
      trainer.batch_sizes = {1, 2, 4, 8, 12, 16, 24, 32};
      trainer.batch_size_count = 8;
    }
    if (search != Search::modes) make_grid();
    goal.power_mw = 30'000;
    if (search == Search::beside) {
      goal.objective = Objective::throughput;
      goal.arrivals_per_s = 30;
      goal.latency = Duration(1'000'000'000);
    }
  }

  // 4 * 4 * 8 * 4 modes: 4096 settings with eight batch sizes, 3584 with seven.
  void make_grid() {
    knobs.knobs[0].values = {2, 4, 8, 12};
    knobs.knobs[2].values = {318'750, 420'750, 522'750, 624'750,
                             726'750, 828'750, 930'750, 1'300'500};
    knobs.knobs[3].values = {204'000, 665'600, 2'133'000, 3'199'000};
    modes.clear();
    for (const std::int64_t gpu : knobs.knobs[2].values) {
      for (const std::int64_t memory : knobs.knobs[3].values) {
        for (const std::int64_t cpu : knobs.knobs[1].values) {
          for (const std::int64_t cores : knobs.knobs[0].values) {
            modes.push_back({{cores, cpu, gpu, memory}, 4});
          }
        }
      }
    }
  }

  PolicyContext context(const Memory& memory) const {
    PolicyContext context = OrinProblem::context();
    if (search == Search::beside) context.workloads[index(Kind::infer)] = &server;
    context.observations = memory.observations();
    return context;
  }

  Setting setting(std::size_t number) const {
    Setting setting{.mode = modes[number % modes.size()], .batch_size = {16, 0}, .run = Run::train};
    const std::size_t size = number / modes.size();
    if (search == Search::batches) setting.batch_size[0] = trainer.batch_sizes[size % 8];
    if (search == Search::beside) {
      setting.batch_size[1] = server.batch_sizes[size % 7];
      setting.run = Run::both;
    }
    return setting;
  }

  Observation measured(const Setting& setting) const {
    const ModelMode mode = model_mode(knobs, setting.mode, board.highest);
    const TrueCost train = cost(board, mode, setting.batch_size[0]);
    Observation answer = complete(setting, train.minibatch_ms, train.power_w);
    if (search == Search::beside) {
      const double share = 0.02 + 0.004 * setting.batch_size[1];
      answer.cost[1] = answer.cost[0];
      answer.cost[1].minibatch_mean =
          Duration(static_cast<std::int64_t>(share * train.minibatch_ms * 1e6));
    }
    answer.limit_mw = *goal.power_mw;
    if (answer.within(*goal.power_mw)) return answer;
    answer = gearshift::cut_short(setting, Outcome::over_limit);
    answer.limit_mw = *goal.power_mw;
    return answer;
  }

  void fill(Memory& memory, Past past) const {
    const std::size_t every = search == Search::modes ? 3 : 1;
    for (std::size_t i = 0; i < kFullest; ++i) {
      Observation one = measured(setting(past == Past::repeats ? i % 40 * 97 : i * every));
      if (past == Past::measured && !one.ok()) {
        one = complete(one.setting, 50, 40);
        one.limit_mw = 60'000;
      } else if (past == Past::cut_short && i % 2 == 0) {
        one = gearshift::cut_short(one.setting, Outcome::over_limit);
        one.limit_mw = *goal.power_mw;
      }
      ASSERT_TRUE(memory.add(one));
    }
  }

  Search search;
  BoardModel board;
  Workload server;
};

struct Ended {
  Request request;
  int measurements = 0;
  std::string failure;
};

// Answers as the controller does, until the script ends or has had `most` measurements.
Ended run(LuaPolicy& policy, const LongProblem& problem, const Memory& memory, int most) {
  Ended ended;
  const Goal& goal = problem.goal;
  ended.request = policy.start(problem.context(memory));
  std::vector<Observation> made;
  while (ended.request.what == What::measure || ended.request.what == What::remeasure) {
    const Observation* known =
        memory.find(ended.request.setting, *goal.power_mw, goal.arrivals_per_s);
    for (const Observation& one : made) {
      if (one.setting == ended.request.setting) known = &one;
    }
    if (known != nullptr && (ended.request.what == What::measure || !known->ok())) {
      Observation copy = *known;
      copy.from_memory = true;
      ended.request = policy.resume(copy);
      continue;
    }
    if (ended.measurements == most) break;
    ++ended.measurements;
    const Observation answer = problem.measured(ended.request.setting);
    made.push_back(answer);
    ended.request = policy.resume(answer);
  }
  ended.failure = policy.failure();
  return ended;
}

std::set<std::string> shipped_scripts() {
  std::set<std::string> names;
  const std::string folder = std::string(GEARSHIFT_SOURCE_DIR) + "/scripts";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".lua") names.insert(file.path().filename());
  }
  return names;
}

// Scripts that are not for training beside inference, and say so (docs/policies.md).
bool knows_one_workload(const std::string& name) {
  static const std::set<std::string> names = {"linear.lua", "linear_inverse.lua", "powertrain.lua",
                                              "roofline.lua", "thompson.lua"};
  return names.count(name) > 0;
}

TEST(Recall, TakesAllWhereTheyAreFewAndElseTheBestAndTheNewest) {
  const PolicyProblem problem;
  std::vector<Observation> made;
  for (int i = 0; i < 20; ++i) {
    const Setting setting{problem.modes[static_cast<std::size_t>(i % 5)], {8 + i / 5 * 8, 0}};
    made.push_back(complete(setting, i == 3 ? 1 : 50 + i, 20));
  }
  EXPECT_EQ(recall(made, problem.goal, 20).size(), 20u);
  EXPECT_EQ(recall(made, problem.goal, 4), (std::vector<std::size_t>{3, 17, 18, 19}));
  // The newest answer of a setting counts, and what a tighter cap cut short tells nothing.
  made.push_back(cut_short(made[19].setting, Outcome::over_limit));
  made.back().limit_mw = 10'000;
  made.push_back(complete(made[3].setting, 900, 20));
  EXPECT_EQ(recall(made, problem.goal, 4), (std::vector<std::size_t>{15, 18, 19, 21}));
}

class LongMemory : public testing::TestWithParam<Search> {};

TEST_P(LongMemory, NoShippedScriptFails) {
  const LongProblem problem(GetParam());
  const ProductTransfer transfer;
  for (const Past past : {Past::measured, Past::cut_short, Past::repeats}) {
    if (past == Past::repeats && GetParam() != Search::batches) continue;
    Memory memory;
    problem.fill(memory, past);
    ASSERT_EQ(memory.observations().size(), kFullest);
    for (const std::string& name : shipped_scripts()) {
      if (GetParam() == Search::beside && knows_one_workload(name)) continue;
      LuaPolicy policy(name, script_text(name), problem.board, &transfer);
      const Ended ended = run(policy, problem, memory, 2);
      EXPECT_EQ(ended.failure, "") << name << ", past " << static_cast<int>(past) << ", after "
                                   << ended.measurements << " measurements";
    }
  }
}

// Fewer answers, of which more is made at a restart: behind a change of the cap, with tables of
// other workloads to begin with.
TEST_P(LongMemory, NoShippedScriptFailsBehindAnotherCap) {
  LongProblem problem(GetParam());
  Profile table(problem.knobs);
  table.device = "jetson-agx-orin";
  table.kind = Kind::train;
  for (std::size_t i = 0; i < problem.modes.size(); i += 7) {
    const Setting setting = problem.setting(i);
    const TrueCost one = OrinProblem::cost(
        problem.board, model_mode(problem.knobs, setting.mode, problem.board.highest), 16);
    ASSERT_TRUE(table.add({setting.mode, 16, one.minibatch_ms, one.power_w, {}}));
  }
  problem.prior = {&table, &table, &table};
  const ProductTransfer transfer;
  for (const std::size_t known : {100, 999}) {
    for (const std::int64_t before_mw : {20'000, 60'000}) {
      Memory memory;
      problem.goal.power_mw = before_mw;
      for (std::size_t i = 0; i < known; ++i) {
        ASSERT_TRUE(memory.add(problem.measured(problem.setting(i * 4001 % kFullest))));
      }
      problem.goal.power_mw = 40'000;
      for (const std::string& name : shipped_scripts()) {
        if (GetParam() == Search::beside && knows_one_workload(name)) continue;
        LuaPolicy policy(name, script_text(name), problem.board, &transfer);
        const Ended ended = run(policy, problem, memory, 1);
        EXPECT_EQ(ended.failure, "") << name << ", " << known << " under " << before_mw
                                     << " mW, after " << ended.measurements << " measurements";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Searches, LongMemory,
                         testing::Values(Search::modes, Search::batches, Search::beside));

}  // namespace
}  // namespace gearshift
