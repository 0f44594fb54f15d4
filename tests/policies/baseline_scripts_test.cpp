// The baselines: scripts that do not search, or not cleverly, as they ship.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "policies/lua/lua_policy.h"
#include "policies/sweep_policy.h"
#include "tests/policies/measured_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

using What = Request::What;

LuaPolicy shipped(const std::string& name) { return {"scripts/" + name, script_text(name)}; }

// AGX Orin's sub-grid, with a minibatch that waits for every knob and power that follows all.
ProfileWorld synthetic_world(Kind kind = Kind::train) {
  PolicyProblem problem;
  problem.knobs = MeasuredTable::sub_grid();
  problem.modes.clear();
  problem.trainer.kind = kind;
  return {problem, [kind](const Setting& setting) {
            const auto& mode = setting.mode.values;
            double minibatch_ms = 2;
            double power_w = 8;
            for (std::size_t i = 0; i < 4; ++i) {
              const double value = static_cast<double>(mode[i]) / (i == 0 ? 12.0 : 3e6);
              minibatch_ms += setting.batch_size[index(kind)] / value;
              power_w += 8 * value;
            }
            return TrueCost{minibatch_ms, power_w};
          }};
}

std::string values_of(const Setting& setting) {
  return MeasuredTable::sub_grid().describe(setting.mode);
}

TEST(GovernorScript, SettlesAtTheHighestClocksWhateverTheCap) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("governor.lua");
  const SearchOutcome outcome = world.run(policy, 15'000);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode, MeasuredTable::sub_grid().highest());
  EXPECT_EQ(outcome.measurements, 0);
}

TEST(PresetScript, TakesTheHighestBudgetNotAboveTheCap) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("preset.lua");
  EXPECT_EQ(values_of(world.run(policy, 29'500).setting),
            "cpu_cores=4 cpu_mhz=1036.8 gpu_mhz=318.75 mem_mhz=2133");
  EXPECT_EQ(values_of(world.run(policy, 49'000).setting),
            "cpu_cores=8 cpu_mhz=1651.2 gpu_mhz=522.75 mem_mhz=3199");
  EXPECT_EQ(values_of(world.run(policy, 50'000).setting),
            "cpu_cores=12 cpu_mhz=1344 gpu_mhz=726.75 mem_mhz=3199");
  EXPECT_EQ(world.run(policy, 60'000).setting.mode, MeasuredTable::sub_grid().highest());
  policy.take_log();
  EXPECT_FALSE(world.run(policy, 14'500).held) << "below the lowest preset the safe mode is held";
}

TEST(PresetScript, HoldsTheHighestPowerLimitNotAboveTheCap) {
  PolicyProblem problem;
  problem.knobs.knobs = {
      {"power_limit_w", Unit::mw, KnobClass::power_limit, {100'000, 125'000, 150'000}}};
  ProfileWorld world(problem, [](const Setting&) { return TrueCost{10, 100}; });
  LuaPolicy policy = shipped("preset.lua");
  EXPECT_EQ(world.run(policy, 130'000).setting.mode.values[0], 125'000) << policy.failure();
  EXPECT_FALSE(world.run(policy, 99'000).held);
}

TEST(PresetScript, ChoosesABatchThatLeavesTimeToServeIt) {
  ProfileWorld world = synthetic_world(Kind::infer);
  world.problem().goal = {Objective::latency, 30'000, Duration(400'000'000), 90};
  LuaPolicy policy = shipped("preset.lua");
  EXPECT_EQ(world.run(policy).setting.batch_size[index(Kind::infer)], 16) << policy.failure();
}

TEST(PresetMeasuredScript, HoldsTheBestPresetThatKeepsTheCap) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("preset_measured.lua");
  const SearchOutcome outcome = world.run(policy, 60'000);
  EXPECT_EQ(outcome.measurements, 4) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode, MeasuredTable::sub_grid().highest());
}

TEST(RandomScript, MeasuresTenSettingsAndHoldsTheBestOfThem) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("random.lua");
  const SearchOutcome outcome = world.run(policy, 30'000);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.measurements, 10);
  const Goal goal = world.problem().goal;
  for (const Observation& one : world.problem().observations) {
    EXPECT_TRUE(!one.keeps(goal) || one.value(goal) >= world.truth(outcome.setting).value(goal));
  }
  ProfileWorld another = synthetic_world();
  another.problem().seed = 8;
  const SearchOutcome other = another.run(policy, 30'000);
  EXPECT_NE(another.problem().observations[0].setting, world.problem().observations[0].setting);
  EXPECT_EQ(other.measurements, 10);
}

struct HashOfSetting {
  std::size_t operator()(const Setting& setting) const { return hash(setting); }
};

// The least value of all settings that keep the goal.
double optimum_of(ProfileWorld& world) {
  const PolicyProblem& problem = world.problem();
  double least = INFINITY;
  for (const PowerMode& mode : sweep_modes(problem.knobs, SweepOrder::ascend)) {
    for (std::size_t i = 0; i < problem.trainer.batch_size_count; ++i) {
      Setting setting{.mode = mode, .batch_size = {}, .run = Run::train};
      setting.batch_size[0] = problem.trainer.batch_sizes[i];
      const Observation one = world.truth(setting);
      if (one.keeps(problem.goal)) least = std::min(least, one.value(problem.goal));
    }
  }
  return least;
}

TEST(FullSweepScript, FindsTheOptimumAndLeavesOutWhatCannotBeBetter) {
  for (const Objective objective : {Objective::time, Objective::energy, Objective::weighted}) {
    for (const std::int64_t cap_mw : {20'000, 30'000, 100'000}) {
      ProfileWorld world = synthetic_world();
      world.problem().goal.objective = objective;
      world.problem().goal.reference_s = 0.001;
      world.problem().goal.reference_j = 0.03;
      LuaPolicy policy = shipped("full_sweep.lua");
      const SearchOutcome outcome = world.run(policy, cap_mw);
      ASSERT_TRUE(outcome.held) << outcome.failure;
      EXPECT_DOUBLE_EQ(world.truth(outcome.setting).value(world.problem().goal), optimum_of(world));
      // Under a low cap even the best is slow, and little can be left out.
      EXPECT_LE(outcome.measurements, cap_mw > 20'000 ? 441 * 4 * 9 / 10 : 441 * 4)
          << objective_name(objective) << ' ' << cap_mw;
      std::unordered_set<Setting, HashOfSetting> asked;
      for (const Observation& one : world.problem().observations) asked.insert(one.setting);
      EXPECT_EQ(asked.size(), world.problem().observations.size()) << "something was asked twice";
    }
  }
}

TEST(FullSweepScript, UnderALooserCapLooksAgainAtWhatWasCutShort) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("full_sweep.lua");
  const SearchOutcome tight = world.run(policy, 25'000);
  const SearchOutcome looser = world.run(policy, 35'000);
  EXPECT_GT(looser.measurements, 0) << looser.failure;
  EXPECT_LT(looser.measurements, tight.measurements);
  EXPECT_DOUBLE_EQ(world.truth(looser.setting).value(world.problem().goal), optimum_of(world));
  EXPECT_EQ(world.run(policy, 35'000).measurements, 0) << policy.failure();
}

TEST(FullSweepScript, GoesOnWhereObservationsEndAfterARestart) {
  ProfileWorld whole = synthetic_world();
  LuaPolicy policy = shipped("full_sweep.lua");
  const int measurements = whole.run(policy, 30'000).measurements;
  const std::vector<Observation> made = whole.problem().observations;
  ASSERT_EQ(made.size(), static_cast<std::size_t>(measurements));
  for (const std::size_t known : {std::size_t{1}, made.size() / 3, made.size() - 1, made.size()}) {
    ProfileWorld rest = synthetic_world();
    rest.problem().observations.assign(made.begin(),
                                       made.begin() + static_cast<std::ptrdiff_t>(known));
    LuaPolicy fresh = shipped("full_sweep.lua");
    const SearchOutcome outcome = rest.run(fresh, 30'000);
    EXPECT_EQ(outcome.measurements, measurements - static_cast<int>(known)) << outcome.failure;
    for (std::size_t i = known; i < rest.problem().observations.size(); ++i) {
      EXPECT_EQ(rest.problem().observations[i].setting, made[i].setting) << known << ' ' << i;
    }
  }
}

// Memory, then the CPU, then the GPU: each goes back up only when the ones before it have gone
// down.
TEST(FullSweepScript, WithoutAModelClocksGoBackUpAsSeldomAsCanBe) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("full_sweep.lua");
  world.run(policy, 30'000);
  std::array<int, 4> rises{};
  const std::vector<Observation>& made = world.problem().observations;
  for (std::size_t i = 1; i < made.size(); ++i) {
    for (std::size_t knob = 0; knob < 4; ++knob) {
      if (made[i].setting.mode.values[knob] > made[i - 1].setting.mode.values[knob]) ++rises[knob];
    }
  }
  EXPECT_EQ(rises[3], 0);
  EXPECT_LE(rises[1], 3 - 1);
  EXPECT_LE(rises[2], 3 * 7 - 1);
}

// A board that takes a higher clock only after a reboot refuses each rise.
TEST(FullSweepScript, DescendsOnABoardThatNeverRaisesAClock) {
  const ProfileWorld costs = synthetic_world();
  std::optional<PowerMode> last;
  ProfileWorld world(synthetic_world().problem(), [&](const Setting& setting) {
    for (std::size_t knob = 1; last && knob < 4; ++knob) {
      if (setting.mode.values[knob] > last->values[knob]) return TrueCost{};
    }
    last = setting.mode;
    const Observation one = costs.truth(setting);
    return TrueCost{1e3 * seconds(one.cost[0].minibatch_mean),
                    static_cast<double>(one.power_mean_mw) / 1e3};
  });
  world.problem().trainer.batch_size_count = 0;
  LuaPolicy policy = shipped("full_sweep_descend.lua");
  const SearchOutcome outcome = world.run(policy, 100'000);
  ASSERT_TRUE(outcome.held) << outcome.failure;
  EXPECT_EQ(outcome.setting.mode, MeasuredTable::sub_grid().highest());
  std::size_t measured = 0;
  for (const Observation& one : world.problem().observations) measured += one.ok() ? 1 : 0;
  EXPECT_GE(measured, 3u * 7u / 2) << "all core counts at a clock are measured before it falls";
  bool told = false;
  for (std::string line = policy.take_log(); !line.empty(); line = policy.take_log()) {
    told = told || line.find("the best setting needs a reboot") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST(FullSweepScript, HoldsNothingWhereNothingFits) {
  ProfileWorld world = synthetic_world();
  LuaPolicy policy = shipped("full_sweep.lua");
  EXPECT_FALSE(world.run(policy, 8'000).held);
}

TEST(LinearScripts, MeasureTheModesOfThePaperFirst) {
  for (const char* name : {"linear.lua", "linear_inverse.lua"}) {
    ProfileWorld world = synthetic_world();
    world.problem().trainer.batch_size_count = 0;
    LuaPolicy policy = shipped(name);
    const SearchOutcome outcome = world.run(policy, 60'000);
    ASSERT_TRUE(outcome.held) << outcome.failure;
    const auto& made = world.problem().observations;
    ASSERT_GE(made.size(),
              3u);  // i and j are the same mode here: the grid has one such memory clock
    EXPECT_EQ(values_of(made[0].setting),
              "cpu_cores=12 cpu_mhz=1958.4 gpu_mhz=930.75 mem_mhz=2133");
    EXPECT_EQ(values_of(made[1].setting), "cpu_cores=4 cpu_mhz=1958.4 gpu_mhz=930.75 mem_mhz=2133");
    EXPECT_EQ(values_of(made[2].setting),
              "cpu_cores=12 cpu_mhz=2201.6 gpu_mhz=1300.5 mem_mhz=2133");
  }
}

TEST(LinearScripts, MoveBelowWhatWasCutShortAndHoldOnlyWhatWasMeasured) {
  for (const char* name : {"linear.lua", "linear_inverse.lua"}) {
    for (std::int64_t cap_mw = 10'000; cap_mw <= 60'000; cap_mw += 5'000) {
      ProfileWorld world = synthetic_world();
      LuaPolicy policy = shipped(name);
      const SearchOutcome outcome = world.run(policy, cap_mw);
      EXPECT_EQ(outcome.failure, "");
      EXPECT_LE(outcome.measurements, 30);
      EXPECT_TRUE(!outcome.held || world.truth(outcome.setting).within(cap_mw)) << cap_mw;
      EXPECT_EQ(outcome.held, cap_mw >= 15'000) << cap_mw;  // the lowest mode draws 13.2 W
    }
  }
}

TEST(LinearScripts, KeepTheirInstructionsOnLargeBoards) {
  for (const char* name : {"linear.lua", "linear_inverse.lua"}) {
    PolicyProblem problem;
    problem.modes.clear();
    problem.knobs.knobs.clear();
    for (const char* knob : {"cpu_cores", "cpu_mhz", "gpu_mhz", "mem_mhz"}) {
      problem.knobs.knobs.push_back({knob, Unit::khz, KnobClass::clock, {}});
      for (std::int64_t i = 1; i <= 22; ++i) {
        problem.knobs.knobs.back().values.push_back(i * 100'000);
      }
    }
    ProfileWorld world(problem, [](const Setting& setting) {
      TrueCost cost{1.0 * setting.batch_size[0], 10};
      for (std::size_t i = 0; i < 4; ++i) {
        cost.minibatch_ms += 1e6 / static_cast<double>(setting.mode.values[i]);
        cost.power_w += static_cast<double>(setting.mode.values[i]) / 2e5;
      }
      return cost;
    });
    LuaPolicy policy = shipped(name);
    const SearchOutcome outcome = world.run(policy, 35'000);
    EXPECT_TRUE(outcome.held) << name << ": " << outcome.failure;
  }
}

// A machine that draws most of its power whatever runs, so that of what keeps the cap the fastest,
// which a weighted cost is relative to, is best. What that costs is known before a search begins.
ProfileWorld host_world(double energy_weight, std::int64_t cap_mw, const PowerMode& reference) {
  PolicyProblem problem;
  problem.knobs.knobs = {
      {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2, 3, 4}},
      {"cpu_quota_percent", Unit::percent, KnobClass::clock, {25, 50, 100, 200, 300, 400}}};
  problem.modes.clear();
  // By the product of the knobs' positions, as where no model orders them.
  for (std::size_t product = 1; product <= 24; ++product) {
    for (std::size_t cores = 1; cores <= 4; ++cores) {
      if (product % cores != 0 || product / cores > 6) continue;
      problem.modes.push_back({{problem.knobs.knobs[0].values[cores - 1],
                                problem.knobs.knobs[1].values[product / cores - 1]},
                               2});
    }
  }
  problem.trainer.batch_size_count = 0;
  ProfileWorld world(problem, [](const Setting& setting) {
    const auto& mode = setting.mode.values;
    const double share = std::min(static_cast<double>(mode[0]), static_cast<double>(mode[1]) / 100);
    return TrueCost{2000 * (share > 1 ? 0.05 + 0.95 / share : 1 / share), 20 + 8 * share};
  });
  const Observation known =
      world.truth({.mode = reference, .batch_size = {16, 0}, .run = Run::train});
  world.problem().observations = {known};
  world.problem().goal = {.objective = Objective::weighted, .energy_weight = energy_weight};
  if (cap_mw > 0) world.problem().goal.power_mw = cap_mw;
  world.problem().goal.reference_s = known.sample_s(Kind::train);
  world.problem().goal.reference_j = known.sample_j(Kind::train);
  return world;
}

TEST(ShippedScripts, HoldNothingDearerThanTheReferenceOfAWeightedCost) {
  const std::pair<std::int64_t, PowerMode> references[] = {{0, {{4, 400}, 2}},
                                                           {40'000, {{2, 200}, 2}}};
  for (const char* name :
       {"bayes.lua", "binary_search.lua", "full_sweep.lua", "full_sweep_descend.lua",
        "gradient.lua", "linear.lua", "linear_inverse.lua", "random.lua", "roofline.lua"}) {
    for (const auto& [cap_mw, reference] : references) {
      for (const double energy_weight : {0.0, 0.5, 1.0}) {
        ProfileWorld world = host_world(energy_weight, cap_mw, reference);
        LuaPolicy policy = shipped(name);
        const SearchOutcome outcome = world.run(policy);
        ASSERT_TRUE(outcome.held) << name << ": " << outcome.failure;
        EXPECT_LE(world.truth(outcome.setting).value(world.problem().goal), 1 + 1e-9)
            << name << ", energy weight " << energy_weight << ", cap " << cap_mw;
      }
    }
  }
}

TEST(BaselineScripts, ServeInferenceAndBoardsWithAPowerLimitAlone) {
  for (const char* name : {"maxn.lua", "governor.lua", "preset.lua", "preset_measured.lua",
                           "random.lua", "full_sweep.lua", "linear.lua", "linear_inverse.lua"}) {
    for (const Kind kind : {Kind::train, Kind::infer}) {
      PolicyProblem problem;
      problem.knobs.knobs = {{"power_limit_w", Unit::mw, KnobClass::power_limit, {}}};
      for (std::int64_t limit_mw = 100'000; limit_mw <= 250'000; limit_mw += 25'000) {
        problem.knobs.knobs[0].values.push_back(limit_mw);
      }
      problem.modes.clear();
      problem.trainer.kind = kind;
      problem.goal = {Objective::energy, std::nullopt};
      ProfileWorld world(problem, [kind](const Setting& setting) {
        const double limit_w = static_cast<double>(setting.mode.values[0]) / 1e3;
        return TrueCost{setting.batch_size[index(kind)] * 1e3 / limit_w, limit_w};
      });
      LuaPolicy policy = shipped(name);
      const SearchOutcome outcome = world.run(policy);
      EXPECT_TRUE(outcome.held) << name << ": " << outcome.failure;
    }
  }
}

}  // namespace
}  // namespace gearshift
