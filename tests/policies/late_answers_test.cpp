// Searches for the least energy of a server alone whose requests come one by one: what answers late
// is cut short before its time is known, and says that it is slower than was allowed.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

// On all 15,312 modes of an AGX Orin, as its model says. Answers within half a second.
class LateServer {
 public:
  LateServer(const char* workload, Objective objective, double arrivals_per_s)
      : workload_(orin_.find_workload(workload, Kind::infer)->second),
        problem_(server(arrivals_per_s)) {
    problem_.goal.objective = objective;
  }

  ProfileWorld world() const {
    return {problem_, [this](const Setting& setting) {
              const Demand demand =
                  workload_.demand(static_cast<double>(setting.batch_size[index(Kind::infer)]));
              const MinibatchCost one =
                  minibatch_cost(orin_.parameters(Kind::infer), demand,
                                 model_mode(problem_.knobs, setting.mode, board_.highest));
              return TrueCost{one.minibatch_ms, one.power_w};
            }};
  }
  // Of a setting that keeps the goal: J a request, or s of latency; else infinity.
  double value(const Setting& setting) const {
    const Observation one = world().truth(setting);
    return one.keeps(problem_.goal) ? one.value(problem_.goal)
                                    : std::numeric_limits<double>::infinity();
  }
  // The least of any.
  double least() const {
    const ProfileWorld all = world();
    double least = std::numeric_limits<double>::infinity();
    const std::vector<Knob>& knobs = problem_.knobs.knobs;
    Setting any{problem_.knobs.lowest(), {}, Run::infer};
    std::size_t settings = problem_.trainer.batch_size_count;
    for (const Knob& knob : knobs) settings *= knob.values.size();
    for (std::size_t i = 0; i < settings; ++i) {
      std::size_t rest = i;
      for (std::size_t d = 0; d < knobs.size(); ++d) {
        any.mode.values[d] = knobs[d].values[rest % knobs[d].values.size()];
        rest /= knobs[d].values.size();
      }
      any.batch_size[index(Kind::infer)] = problem_.trainer.batch_sizes[rest];
      const Observation one = all.truth(any);
      if (one.keeps(problem_.goal)) least = std::min(least, one.value(problem_.goal));
    }
    return least;
  }

 private:
  static OrinProblem server(double arrivals_per_s) {
    OrinProblem problem(Kind::infer);
    const auto set = [&problem](std::size_t knob, std::int64_t first, std::int64_t last,
                                std::int64_t step) {
      std::vector<std::int64_t>& values = problem.knobs.knobs[knob].values;
      values.clear();
      for (std::int64_t value = first; value < last; value += step) values.push_back(value);
      values.push_back(last);
    };
    set(0, 1, 12, 1);
    set(1, 115'200, 2'201'600, 76'800);
    set(2, 306'000, 1'300'500, 102'000);
    problem.knobs.knobs[3].values = {204'000, 665'600, 2'133'000, 3'199'000};
    problem.modes = {problem.knobs.lowest(), problem.knobs.highest()};
    problem.trainer.batch_sizes = {1, 4, 16, 32, 64};
    problem.trainer.batch_size_count = 5;
    problem.goal = {Objective::energy, std::nullopt, std::chrono::milliseconds(500),
                    arrivals_per_s};
    problem.goal.one_by_one = true;
    return problem;
  }

  const BoardDescription& orin_ = *find_board("jetson-agx-orin", built_in_boards());
  const BoardModel board_ = *built_in_board_model("jetson-agx-orin");
  const WorkloadParameters& workload_;
  OrinProblem problem_;
};

struct Came {
  Setting setting;
  int measured = 0;
  std::ptrdiff_t late = 0;
};

Came search(const char* script, const LateServer& server) {
  ProfileWorld world = server.world();
  LuaPolicy policy(script, script_text(script), built_in_board_model("jetson-agx-orin"));
  const SearchOutcome outcome = world.run(policy);
  EXPECT_TRUE(outcome.held) << outcome.failure;
  const std::vector<Observation>& made = world.problem().observations;
  const auto is_late = [](const Observation& one) { return one.outcome == Outcome::late; };
  return {outcome.setting, outcome.measurements, std::count_if(made.begin(), made.end(), is_late)};
}

TEST(LateAnswers, TellWhatTheirMinibatchesTakeMoreThan) {
  PolicyProblem problem;
  problem.goal = {Objective::energy, std::nullopt, std::chrono::milliseconds(500), 30};
  problem.observations = {cut_short({problem.modes[0], {0, 16}, Run::infer}, Outcome::late)};
  const auto slower = [&problem] {
    LuaPolicy policy("slower.lua", "log(string.format('%.3f', observations[1].slower_than_ms))");
    policy.start(problem.context());
    return policy.failure().empty() ? policy.take_log() : std::string(policy.failure());
  };
  EXPECT_EQ(slower(), "0.000") << "at no rate that is known";
  problem.observations[0].late_per_s = 64;
  EXPECT_EQ(slower(), "250.000") << "sixteen come in as long";
  problem.observations[0].late_per_s = 40;
  EXPECT_EQ(slower(), "100.000") << "sixteen come in 400 ms";
  problem.observations[0].late_per_s = 30;
  EXPECT_EQ(slower(), "0.000") << "late however fast";
  problem.observations[0].late_per_s = 64;
  problem.observations[0].setting.run = Run::both;
  EXPECT_EQ(slower(), "0.000") << "training ran as well";
  problem.observations[0].setting.run = Run::infer;
  problem.observations[0].outcome = Outcome::over_limit;
  EXPECT_EQ(slower(), "0.000");
}

struct Expected {
  const char* script;
  double most_excess;
  int most_late = 0;
};

TEST(LateAnswers, TellASearchThatSuchSettingsAreSlower) {
  const Expected all[] = {{"roofline.lua", 0.03, 3},
                          {"gradient.lua", 0.05, 11},
                          {"binary_search.lua", 0.1, 9},
                          {"bayes.lua", 0.03, 10}};
  for (const double arrivals_per_s : {5, 20, 60}) {
    const LateServer server("resnet18", Objective::energy, arrivals_per_s);
    const double least = server.least();
    for (const Expected& expected : all) {
      SCOPED_TRACE(expected.script + (" at " + std::to_string(arrivals_per_s)));
      const Came came = search(expected.script, server);
      EXPECT_LT(server.value(came.setting), (1 + expected.most_excess) * least);
      EXPECT_LE(came.late, expected.most_late);
      EXPECT_LE(came.measured, 25);
    }
  }
}

// One request at a time keeps up in few modes, or in none, and those that come by chance queue up
// behind it: four at a time wait for one another, and answer sooner.
TEST(LateAnswers, ASmallBatchThatHardlyKeepsUpHidesNoLargerOne) {
  const Expected all[] = {{"bayes.lua", 0.01},
                          {"roofline.lua", 0.01},
                          {"gradient.lua", 0.01},
                          {"binary_search.lua", 0.01}};
  for (const double arrivals_per_s : {50, 60, 63}) {
    const LateServer server("mobilenet_v3", Objective::latency, arrivals_per_s);
    const double least = server.least();
    for (const Expected& expected : all) {
      SCOPED_TRACE(expected.script + (" at " + std::to_string(arrivals_per_s)));
      const Came came = search(expected.script, server);
      EXPECT_EQ(came.setting.batch_size[index(Kind::infer)], 4);
      EXPECT_LT(server.value(came.setting), (1 + expected.most_excess) * least);
    }
  }
}

// Without a cap nothing is left out of what is looked at, and a second look came to more than the
// instructions that there are between two measurements.
TEST(LateAnswers, BinarySearchLooksTwiceWithinItsInstructions) {
  const LateServer server("resnet18", Objective::energy, 5);
  ProfileWorld world = server.world();
  for (const double arrivals_per_s : {5, 4, 6}) {
    world.problem().goal.arrivals_per_s = arrivals_per_s;
    LuaPolicy policy("binary_search.lua", script_text("binary_search.lua"));
    const SearchOutcome outcome = world.run(policy);
    EXPECT_TRUE(outcome.held) << arrivals_per_s << ": " << outcome.failure;
  }
}

}  // namespace
}  // namespace gearshift
