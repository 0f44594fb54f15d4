// What a table of the very workload, measured another day, tells the process and the search; and
// what it does not, where it no longer holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "boards/board_model.h"
#include "policies/lua/lua_policy.h"
#include "policies/numerics/cost_prior.h"
#include "policies/numerics/cost_process.h"
#include "tests/policies/orin_problem.h"
#include "tests/policies/script_text.h"

namespace gearshift {
namespace {

// How a table differs from what settings cost today.
struct Day {
  double slower = 1;      // factor of all times
  double more_power = 1;  // factor of all powers
  std::size_t every = 1;  // only each so many-th setting was measured
  bool another = false;   // it is of another workload, whatever its name says
};

// A made-up workload that the board's model does not describe: it leaves a bump of time and power
// that depends on two of the clocks.
class CostTable : public testing::Test {
 protected:
  CostTable()
      : board_(*built_in_board_model("jetson-agx-orin")),
        grid_(problem_.context(), highest_mode(&board_)) {}

  TrueCost truth(std::size_t setting) const { return bumpy(grid_.mode(setting)); }
  TrueCost bumpy(const ModelMode& mode) const {
    TrueCost cost = OrinProblem::cost(board_, mode, 16);
    cost.minibatch_ms *= 1 + 0.12 * std::sin(5 * mode.gpu_ghz);
    cost.power_w *= 1 + 0.05 * std::cos(4 * mode.cpu_ghz);
    return cost;
  }
  Profile table(const std::string& workload, const Day& day = {}) const {
    Profile table(problem_.knobs);
    table.device = "jetson-agx-orin";
    table.workload = workload;
    const Demand other{.A = 60, .B = 20, .L = 140, .P = 40, .O = 20, .workers = 4, .kg = 12};
    for (std::size_t i = 0; i < grid_.size(); i += day.every) {
      TrueCost cost = truth(i);
      if (day.another) {
        const MinibatchCost one =
            minibatch_cost(board_.parameters[index(Kind::train)], other, grid_.mode(i));
        cost = {one.minibatch_ms, one.power_w};
      }
      EXPECT_TRUE(table.add({grid_.setting(i).mode, 16, day.slower * cost.minibatch_ms,
                             day.more_power * cost.power_w, std::nullopt}));
    }
    return table;
  }
  CostProcess process(const Profile& table) const {
    PolicyContext context = problem_.context();
    const Profile* tables[] = {&table};
    context.prior = tables;
    return {grid_, cost_centre(context, &board_, grid_), cost_prior(context, &board_, grid_)};
  }
  CostRow row(std::size_t setting) const {
    const TrueCost cost = truth(setting);
    return {setting, cost.minibatch_ms, cost.power_w, 0, 0, false};
  }
  // Mean errors of the logarithms of time and power.
  std::pair<double, double> errors(const CostProcess& process) const {
    double time = 0, power = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const CostProcess::Mean mean = process.mean(i);
      time += std::abs(mean.log_time - std::log(truth(i).minibatch_ms));
      power += std::abs(mean.log_power - std::log(truth(i).power_w));
    }
    const auto count = static_cast<double>(grid_.size());
    return {time / count, power / count};
  }
  // What a search with this table comes to under the cap; `excess`: of its time over the optimum.
  SearchOutcome search(const Profile& table, std::int64_t cap_mw, double& excess,
                       std::vector<TrueCost>* measured = nullptr) const {
    OrinProblem problem;
    problem.prior = {&table};
    ProfileWorld world(problem, [&](const Setting& setting) {
      const TrueCost cost = bumpy(model_mode(problem.knobs, setting.mode, board_.highest));
      if (measured != nullptr) measured->push_back(cost);
      return cost;
    });
    LuaPolicy policy("bayes.lua", script_text("bayes.lua"), board_);
    SearchOutcome outcome = world.run(policy, cap_mw);
    double least = INFINITY;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      if (truth(i).power_w * 1e3 <= static_cast<double>(cap_mw)) {
        least = std::min(least, truth(i).minibatch_ms);
      }
    }
    EXPECT_TRUE(outcome.held) << outcome.failure;
    const TrueCost held = bumpy(model_mode(problem.knobs, outcome.setting.mode, board_.highest));
    EXPECT_LE(held.power_w * 1e3, static_cast<double>(cap_mw));
    excess = held.minibatch_ms / least - 1;
    return outcome;
  }

  OrinProblem problem_;
  BoardModel board_;
  SettingGrid grid_;
};

TEST_F(CostTable, IsBelievedBeforeAnythingWasMeasured) {
  const auto [time, power] = errors(process(table("lenet")));
  EXPECT_LT(time, 0.01);
  EXPECT_LT(power, 0.005);
  // The same table under another name tells only what workloads have in common.
  const auto [other_time, other_power] = errors(process(table("alexnet")));
  EXPECT_GT(other_time, 3 * time);
  EXPECT_GT(other_power, 3 * power);
}

// The sensor of this board sees other rails than that which the model was made of.
TEST_F(CostTable, TellsTheScaleOfPowerThatItsOwnWorkloadWasMeasuredIn) {
  for (const double scale : {0.6, 1.6}) {
    const Profile other = table("alexnet", {.more_power = scale});
    const CostProcess before = process(other);
    double off = 0;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      off += std::abs(before.mean(i).log_power - std::log(scale * truth(i).power_w));
    }
    EXPECT_LT(off / static_cast<double>(grid_.size()), 0.05) << scale;
    // Today another sensor is read: a few measurements tell.
    CostProcess today = process(other);
    for (std::size_t i = 0; i < 5; ++i) today.learn(row(i * (grid_.size() - 1) / 4));
    today.condition();
    EXPECT_LT(errors(today).second, 0.06) << scale;
  }
}

// Cells of a mode alone draw 12 % more than the model says at one batch size and 12 % less at
// another: that is no scale.
TEST_F(CostTable, OfOneModeTellsNoScaleOfPower) {
  Profile table(problem_.knobs);
  table.device = "jetson-agx-orin";
  table.workload = "alexnet";
  const SettingGrid& grid = grid_;
  const TrueCost cost = truth(grid.size() / 2);
  double batch_size = 8;
  for (const double off : {0.88, 1.0, 1.06, 1.12}) {
    ASSERT_TRUE(
        table.add({grid.setting(grid.size() / 2).mode, static_cast<std::int32_t>(batch_size),
                   cost.minibatch_ms * batch_size / 16, cost.power_w * off, std::nullopt}));
    batch_size *= 2;
  }
  PolicyContext context = problem_.context();
  const Profile* tables[] = {&table};
  context.prior = tables;
  EXPECT_EQ(cost_prior(context, &board_, grid).log_power_scale, 0);
}

TEST_F(CostTable, SaysHowSureItIsOfEachSetting) {
  const CostProcess same = process(table("lenet", {.every = 5}));
  const CostProcess other = process(table("alexnet", {.every = 5}));
  CostSamples known, gap, unknown;
  same.sample(10, known);
  same.sample(11, gap);
  other.sample(10, unknown);
  EXPECT_LT(known.time_deviation, 0.5 * unknown.time_deviation);
  EXPECT_LT(known.power_deviation, 0.5 * unknown.power_deviation);
  EXPECT_GT(gap.time_deviation, 1.2 * known.time_deviation) << "a setting that it lacks";
  EXPECT_LT(gap.time_deviation, unknown.time_deviation) << "and whose neighbours it has";
}

TEST_F(CostTable, TellsSettingsThatItLacksByTheirNeighbours) {
  const auto [time, power] = errors(process(table("lenet", {.every = 5})));
  EXPECT_LT(time, 0.05);
  EXPECT_LT(power, 0.03);
  const auto [other_time, other_power] = errors(process(table("alexnet", {.every = 5})));
  EXPECT_LT(time, 0.8 * other_time);
  EXPECT_LT(power, other_power);
}

TEST_F(CostTable, FollowsADayOnWhichEverythingIsSlower) {
  CostProcess learnt = process(table("lenet", {.slower = 1.4, .more_power = 1.06}));
  learnt.learn(row(20));
  learnt.learn(row(90));
  learnt.condition();
  const auto [time, power] = errors(learnt);
  EXPECT_LT(time, 0.04);
  EXPECT_LT(power, 0.02);
}

TEST_F(CostTable, IsForgottenWhereMeasurementsContradictIt) {
  CostProcess named = process(table("lenet", {.another = true}));
  CostProcess other = process(table("alexnet", {.another = true}));
  CostSamples before, after;
  named.sample(70, before);
  for (std::size_t i = 0; i < 5; ++i) {
    named.learn(row(i * (grid_.size() - 1) / 4));
    other.learn(row(i * (grid_.size() - 1) / 4));
  }
  named.condition();
  other.condition();
  named.sample(70, after);
  EXPECT_GT(after.time_deviation, 1.5 * before.time_deviation);
  // As if it had another name.
  EXPECT_NEAR(errors(named).first, errors(other).first, 1e-3);
  EXPECT_NEAR(errors(named).second, errors(other).second, 1e-3);
}

TEST_F(CostTable, SparesASearchMostOfItsMeasurements) {
  const Profile same = table("lenet"), other = table("alexnet");
  int with = 0, without = 0;
  for (const std::int64_t cap_mw : {18'000, 22'000, 27'000, 33'000, 40'000}) {
    double excess = 0;
    const SearchOutcome outcome = search(same, cap_mw, excess);
    EXPECT_LT(excess, 0.01) << cap_mw;
    EXPECT_LE(outcome.measurements, 6) << cap_mw;
    EXPECT_LE(outcome.over_limit, 1) << cap_mw;
    with += outcome.measurements;
    without += search(other, cap_mw, excess).measurements;
  }
  EXPECT_LT(1.5 * with, without);
}

// Not even to have measured three settings: what is far slower tells little of what is not.
TEST_F(CostTable, NothingIsMeasuredThatPromisesNothing) {
  const Profile same = table("lenet");
  for (std::int64_t cap_mw = 16'000; cap_mw <= 44'000; cap_mw += 1'000) {
    double excess = 0, best_ms = INFINITY;
    std::vector<TrueCost> measured;
    search(same, cap_mw, excess, &measured);
    for (const TrueCost& cost : measured) {
      EXPECT_LT(cost.minibatch_ms, 1.5 * best_ms) << cap_mw;
      if (cost.power_w * 1e3 <= static_cast<double>(cap_mw)) {
        best_ms = std::min(best_ms, cost.minibatch_ms);
      }
    }
  }
}

TEST_F(CostTable, OfAnotherWorkloadByTheSameNameCostsASearchLittle) {
  const Profile wrong = table("lenet", {.another = true});
  double sum = 0;
  for (const std::int64_t cap_mw : {18'000, 22'000, 27'000, 33'000, 40'000}) {
    double excess = 0;
    const SearchOutcome outcome = search(wrong, cap_mw, excess);
    sum += excess;
    EXPECT_GE(outcome.measurements, 3) << cap_mw << ": none ends on the table's word alone";
  }
  EXPECT_LT(sum / 5, 0.1);
}

TEST_F(CostTable, OfTheWorkloadItselfComesFirst) {
  const Profile other = table("alexnet", {.another = true}), same = table("lenet");
  PolicyContext context = problem_.context();
  const Profile* tables[] = {&other, &same};
  context.prior = tables;
  const CostProcess both(grid_, cost_centre(context, &board_, grid_),
                         cost_prior(context, &board_, grid_));
  EXPECT_LT(errors(both).first, 0.01);
}

// A board without a model, whose CPU quota no model knows, and of which part was measured.
TEST(CostTableWithoutAModel, HoldsBeyondTheValuesThatItHas) {
  PolicyProblem problem;
  problem.knobs.knobs = {
      {"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2}},
      {"cpu_quota_percent", Unit::percent, KnobClass::clock, {10, 20, 30, 40, 60, 80, 100}}};
  problem.modes.clear();
  problem.trainer.batch_size_count = 0;
  const SettingGrid grid(problem.context(), highest_mode(nullptr));
  const auto truth = [&](std::size_t i) {
    const auto quota = static_cast<double>(grid.setting(i).mode.values[1]);
    return TrueCost{800 / quota, 8 + 0.15 * quota};
  };
  Profile table(problem.knobs);
  table.device = "host";
  table.workload = "lenet";
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const PowerMode mode = grid.setting(i).mode;
    if (mode.values[0] != 2 || mode.values[1] < 30) continue;
    ASSERT_TRUE(table.add({mode, 16, truth(i).minibatch_ms, truth(i).power_w, std::nullopt}));
  }
  problem.prior = {&table};
  const PolicyContext context = problem.context();
  const CostProcess process(grid, cost_centre(context, nullptr, grid),
                            cost_prior(context, nullptr, grid));
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const PowerMode mode = grid.setting(i).mode;
    const bool had = mode.values[0] == 2 && mode.values[1] >= 30;
    EXPECT_NEAR(process.mean(i).log_time, std::log(truth(i).minibatch_ms), had ? 0.05 : 0.5)
        << mode.values[0] << " " << mode.values[1];
    EXPECT_NEAR(process.mean(i).log_power, std::log(truth(i).power_w), had ? 0.02 : 0.3)
        << mode.values[0] << " " << mode.values[1];
  }
}

}  // namespace
}  // namespace gearshift
