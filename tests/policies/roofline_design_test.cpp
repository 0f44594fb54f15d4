#include "policies/numerics/roofline_design.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "boards/board_model.h"
#include "tests/policies/measured_problem.h"

namespace gearshift {
namespace {

const BoardDescription& orin() { return *find_board("jetson-agx-orin", built_in_boards()); }

std::vector<RooflineRow> modelled_rows(const WorkloadParameters& of) {
  std::vector<RooflineRow> rows;
  for (const double cores : {2, 4, 8, 12}) {
    for (const double cpu : {0.4, 0.8, 1.5, 2.2}) {
      for (const double gpu : {0.2, 0.5, 0.9, 1.3}) {
        for (const double mem : {0.6656, 2.133, 3.199}) {
          const ModelMode mode{cores, cpu, gpu, mem};
          const MinibatchCost cost =
              minibatch_cost(orin().parameters(of.kind), of.demand(16), mode);
          rows.push_back({mode, 16, cost.minibatch_ms, cost.power_w});
        }
      }
    }
  }
  return rows;
}

TEST(RooflineDesign, KnowsAWorkloadOfABoardFileAsItIs) {
  const WorkloadParameters& truth = orin().find_workload("resnet", Kind::train)->second;
  const WorkloadParameters again = estimate_of(truth).workload();
  EXPECT_NEAR(again.base.A, truth.base.A, 1e-9);
  EXPECT_NEAR(again.base.kg, truth.base.kg, 1e-9);
  EXPECT_NEAR(again.a0, truth.a0, 1e-9);
  const WorkloadParameters& serving = orin().find_workload("resnet", Kind::infer)->second;
  const WorkloadParameters served = estimate_of(serving).workload();
  EXPECT_NEAR(served.slope.B, serving.slope.B, 1e-9);
  EXPECT_NEAR(served.base.L, serving.base.L, 1e-9);
  EXPECT_EQ(estimate_of(serving).power_scale(), 1);
}

TEST(RooflineDesign, ChoosesCellsThatTellTheDemands) {
  const std::vector<RooflineRow> rows =
      modelled_rows(orin().find_workload("mobnet", Kind::train)->second);
  const RooflineEstimate start = estimate_of(orin().find_workload("lstm", Kind::train)->second);
  const DeviceParameters& device = orin().parameters(Kind::train);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const DesignedFit fit = fit_by_design(device, rows, start, 8, seed);
    const std::set<std::size_t> different(fit.chosen.begin(), fit.chosen.end());
    EXPECT_EQ(different.size(), 8U);
    EXPECT_LT(fit.time_error, 0.02) << seed;
    EXPECT_LT(fit.power_error, 0.01) << seed;
    EXPECT_EQ(fit_by_design(device, rows, start, 8, seed).chosen, fit.chosen);
  }
}

TEST(RooflineDesign, TakesAllWhereThereAreNoMore) {
  std::vector<RooflineRow> rows =
      modelled_rows(orin().find_workload("mobnet", Kind::train)->second);
  rows.resize(5);
  const RooflineEstimate start = estimate_of(orin().find_workload("lstm", Kind::train)->second);
  const DesignedFit fit = fit_by_design(orin().parameters(Kind::train), rows, start, 8, 1);
  EXPECT_EQ(fit.chosen.size(), 5U);
  EXPECT_EQ(fit.time_error, 0);
  EXPECT_TRUE(fit_by_design(orin().parameters(Kind::train), {}, start, 8, 1).chosen.empty());
}

// The medians of 20 repeats with ten cells of their own choosing, from another workload's entry.
TEST(RooflineDesign, PredictsMeasuredProfilesFromTenModes) {
  const struct {
    const char* file;
    const char* board;
    const char* start;  // of AGX Orin
  } cases[] = {{"agx_orin_resnet_train", "jetson-agx-orin", "mobnet"},
               {"agx_orin_mobnet_train", "jetson-agx-orin", "resnet"},
               {"agx_orin_lstm_train", "jetson-agx-orin", "resnet"},
               {"orin_nano_resnet_train", "jetson-orin-nano", "mobnet"}};
  for (const auto& one : cases) {
    const MeasuredTable table(one.file, Kind::train, false);
    if (table.empty()) GTEST_SKIP() << no_measured_data();
    std::vector<RooflineRow> rows;
    for (const auto& [setting, cost] : table.cells()) {
      rows.push_back({{static_cast<double>(setting.mode.values[0]),
                       static_cast<double>(setting.mode.values[1]) / 1e6,
                       static_cast<double>(setting.mode.values[2]) / 1e6,
                       static_cast<double>(setting.mode.values[3]) / 1e6},
                      static_cast<double>(setting.batch_size[0]),
                      cost.minibatch_ms,
                      cost.power_w});
    }
    const BoardModel board = *built_in_board_model(one.board);
    const RooflineEstimate start =
        estimate_of(orin().find_workload(one.start, Kind::train)->second);
    std::vector<double> time;
    std::vector<double> power;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const DesignedFit fit = fit_by_design(board.parameters[0], rows, start, 10, seed);
      time.push_back(100 * fit.time_error);
      power.push_back(100 * fit.power_error);
    }
    EXPECT_LE(median(time), 8) << one.file;
    EXPECT_LE(median(power), 4) << one.file;
  }
}

}  // namespace
}  // namespace gearshift
