// A measured day of sun, a battery of 50 Wh and a training that never ends: the plan does more than
// the best mode that one could hold all day, and keeps its reserve.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "limits/battery_limit.h"
#include "simulator/simulation.h"
#include "tests/fakes/fake_world.h"
#include "tests/fakes/measured_data.h"
#include "tests/simulator/board_fixture.h"
#include "trace/irradiance_csv.h"

namespace gearshift {
namespace {

using fakes::hold;
using fakes::ListPolicy;
using std::chrono::hours;
using std::chrono::seconds;

constexpr double kPanelW = 100;  // at 1000 W/m2
constexpr double kSolarCapacityWh = 50;
constexpr double kReserveShare = 0.2;
constexpr std::int32_t kSolarBatchSize = 16;

SupplySpec supply_of_day(const std::vector<Irradiance>& day, double share) {
  SupplySpec supply{.battery = {.capacity_wh = kSolarCapacityWh}};
  for (const Irradiance& sun : day) {
    supply.charger.push_back({sun.after, share * kPanelW * sun.w_m2 / 1000});
  }
  return supply;
}

struct FixedMode {
  double minibatches = 0;
  WorkPoint point;
};

// The most minibatches of any mode that is held all day without the battery being ever empty. It
// may use the reserve.
FixedMode best_fixed_mode(const SupplySpec& supply, const KnobSpace& knobs,
                          const CostSource& costs) {
  FixedMode best;
  for (const PowerMode& mode : unmeasured_order(knobs)) {
    const TrueCost cost = *costs.cost(mode, kSolarBatchSize);
    const double minibatches = 86400e3 / cost.minibatch_ms;
    if (minibatches <= best.minibatches) continue;
    Supply day(supply);
    for (int minute = 0; minute < 1440 && !day.emptied(); ++minute) {
      day.advance(Time{} + seconds(60 * minute), Time{} + seconds(60 * minute + 60), cost.power_w);
    }
    if (day.emptied()) continue;
    best = {minibatches, {cost.power_w, 1000 * kSolarBatchSize / cost.minibatch_ms}};
  }
  return best;
}

// Holds the fastest mode whose true power is within the cap: what a search would come to.
ListPolicy fastest_within(const CostSource& costs) {
  return ListPolicy([&costs](const PolicyContext& context, const std::vector<Observation>&) {
    PowerMode best = context.safe;
    double least_ms = costs.cost(best, kSolarBatchSize)->minibatch_ms;
    for (const PowerMode& mode : context.modes) {
      const TrueCost cost = *costs.cost(mode, kSolarBatchSize);
      const bool fits = !context.goal.power_mw ||
                        1000 * cost.power_w <= static_cast<double>(*context.goal.power_mw);
      if (!fits || cost.minibatch_ms >= least_ms) continue;
      best = mode;
      least_ms = cost.minibatch_ms;
    }
    return hold(best, kSolarBatchSize);
  });
}

WorkPrediction prediction(const CostSource& costs, const KnobSpace& knobs) {
  WorkPrediction made;
  for (const PowerMode& mode : unmeasured_order(knobs)) {
    const TrueCost cost = *costs.cost(mode, kSolarBatchSize);
    Setting setting{.mode = mode};
    setting.batch_size[index(Kind::train)] = kSolarBatchSize;
    made.front.push_back({setting, {cost.power_w, 1000 * kSolarBatchSize / cost.minibatch_ms}});
  }
  return made;
}

TEST(SolarDay, ThePlanDoesMoreThanTheBestFixedModeAndKeepsItsReserve) {
  const std::filesystem::path file = measured_folder() / "solar_day.csv";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << no_measured_data();
  const std::vector<Irradiance> day = read_irradiance(file);
  const BoardDescription& board = built_in_board("jetson-nano");
  KnobSpace knobs = board.knob_space();
  const ModelCosts costs(board, knobs, board.find_workload("mobilenet_v3", Kind::train)->second);
  const SupplySpec supply = supply_of_day(day, 1);
  const FixedMode fixed = best_fixed_mode(supply, knobs, costs);

  SimulationProblem problem;
  problem.board = board.id;
  problem.knobs = knobs;
  problem.tasks = {{.name = "mobilenet_v3",
                    .kind = Kind::train,
                    .batch_sizes = {kSolarBatchSize},
                    .batch_size = kSolarBatchSize,
                    .costs = &costs}};
  problem.most_duration = hours(24);
  problem.mission = Mission{.supply = supply};
  BatteryLimitOptions options{.aim = BatteryAim::serve,
                              .until = hours(24),
                              .reserve_share = kReserveShare,
                              .pause_w = costs.idle_power_w(knobs.lowest())};
  for (const SuppliedPower& step : supply.charger) {
    options.forecast.push_back({step.after, step.power_w});
  }
  BatteryLimit limit(options, [&](const Workload&) { return prediction(costs, knobs); });
  ListPolicy policy = fastest_within(costs);
  const SimulationResult result = simulate(problem, policy, limit);
  const double planned = static_cast<double>(result.mission->samples) / kSolarBatchSize;
  std::printf(
      "  fixed: %.0f minibatches at %.2f W; planned: %.0f (%+.1f %%), %.2f Wh at the least, "
      "%u pauses\n",
      fixed.minibatches, fixed.point.power_w, planned, 100 * (planned / fixed.minibatches - 1),
      result.mission->least_wh, result.mission->pauses);
  EXPECT_EQ(result.ending, Ending::unsettled);
  EXPECT_GT(planned, fixed.minibatches);
  EXPECT_GE(result.mission->least_wh, kReserveShare * kSolarCapacityWh);
}

}  // namespace
}  // namespace gearshift
