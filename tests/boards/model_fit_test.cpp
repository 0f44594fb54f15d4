#include "boards/model_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "tests/fakes/built_in_board.h"
#include "tests/fakes/measured_data.h"
#include "trace/profile_csv.h"

namespace gearshift {
namespace {

// What the model itself says of every 50th mode of AGX Orin.
std::vector<FitCell> modelled(const WorkloadParameters& workload,
                              const std::vector<double>& batch_sizes) {
  const KnobSpace space = agx_orin().knob_space();
  const std::vector<PowerMode> modes = modes_by_power(agx_orin(), space);
  std::vector<FitCell> cells;
  for (std::size_t i = 0; i < modes.size(); i += 50) {
    const ModelMode mode = model_mode(space, modes[i], {});
    const double batch_size = batch_sizes[i / 50 % batch_sizes.size()];
    const MinibatchCost cost = minibatch_cost(*agx_orin().model, workload.demand(batch_size), mode);
    cells.push_back({mode, batch_size, cost.minibatch_ms, cost.power_w});
  }
  return cells;
}

WorkloadParameters start_of(const WorkloadParameters& known) {
  WorkloadParameters start;
  start.kind = known.kind;
  start.base.workers = known.base.workers;
  start.reference_batch = known.reference_batch;
  start.a0 = known.a0;
  return start;
}

std::vector<FitCell> chosen(const std::vector<FitCell>& cells, std::size_t count) {
  std::vector<FitCell> some;
  for (const std::size_t i : spread_cells(cells, count, 1)) some.push_back(cells[i]);
  return some;
}

TEST(ModelFit, FindsTheTrainingThatMadeTheCells) {
  for (const char* name : {"resnet18", "mobilenet_v3", "lstm"}) {
    SCOPED_TRACE(name);
    const WorkloadParameters& known = agx_orin().workloads.at(name);
    const std::vector<FitCell> cells = modelled(known, {16});
    const ModelFit fit = fit_workload(*agx_orin().model, chosen(cells, 20), start_of(known));
    const CostError error = cost_error(*agx_orin().model, fit.workload, cells);
    EXPECT_LT(error.time.p90, 0.01);
    EXPECT_LT(error.power.p90, 0.01);
    EXPECT_NEAR(fit.workload.base.kg / known.base.kg, 1, 0.1);
    EXPECT_EQ(fit.workload.a0, known.a0) << "one batch size tells nothing of it";
  }
}

TEST(ModelFit, TakesTheErrorThatNineTenthsAreNoLargerThan) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18");
  const std::vector<FitCell> all = modelled(known, {16});
  for (const std::size_t count : {1u, 2u, 5u, 10u, 11u, 20u}) {
    std::vector<FitCell> cells(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    // The errors of time are 0.01, 0.02, ... of what is measured.
    for (std::size_t i = 0; i < count; ++i) {
      cells[i].minibatch_ms /= 1 + 0.01 * static_cast<double>(i + 1);
    }
    const FitError error = cost_error(*agx_orin().model, known, cells).time;
    const double rank = std::ceil(0.9 * static_cast<double>(count));
    EXPECT_NEAR(error.p90, 0.01 * rank, 1e-9) << count;
    EXPECT_GE(error.p90, error.median - 1e-12) << count;
  }
}

TEST(ModelFit, FindsInferenceOverSeveralBatchSizes) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18-infer");
  const std::vector<FitCell> cells = modelled(known, {1, 4, 16, 64});
  const ModelFit fit = fit_workload(*agx_orin().model, chosen(cells, 40), start_of(known));
  const CostError error = cost_error(*agx_orin().model, fit.workload, cells);
  EXPECT_LT(error.time.median, 0.03);
  EXPECT_LT(error.power.median, 0.02);
}

TEST(ModelFit, FindsWhatAServerLoadsBySlowCores) {
  WorkloadParameters known = agx_orin().workloads.at("resnet18-infer");
  known.slope.S = 14;
  const std::vector<FitCell> cells = modelled(known, {1, 4, 16, 64});
  const ModelFit fit = fit_workload(*agx_orin().model, chosen(cells, 40), start_of(known));
  EXPECT_NEAR(fit.workload.slope.S, 14, 3);
  EXPECT_LT(cost_error(*agx_orin().model, fit.workload, cells).power.p90, 0.04);
}

TEST(ModelFit, FindsHowTrainingFollowsTheBatchSize) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18");
  const std::vector<FitCell> cells = modelled(known, {8, 16, 32, 64});
  WorkloadParameters start = start_of(known);
  start.a0 = 0;
  const ModelFit fit = fit_workload(*agx_orin().model, chosen(cells, 30), start);
  EXPECT_NEAR(fit.workload.a0, known.a0, 1);
  EXPECT_LT(cost_error(*agx_orin().model, fit.workload, cells).time.p90, 0.02);
}

TEST(ModelFit, OneWrongReadingDoesNotDecide) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18");
  const std::vector<FitCell> cells = modelled(known, {16});
  std::vector<FitCell> some = chosen(cells, 20);
  some[7].power_w *= 0.35;
  some[11].minibatch_ms *= 2.8;
  const ModelFit fit = fit_workload(*agx_orin().model, some, start_of(known));
  const CostError error = cost_error(*agx_orin().model, fit.workload, cells);
  EXPECT_LT(error.time.median, 0.05);
  EXPECT_LT(error.power.median, 0.03);
  EXPECT_GT(fit.error.time.mean, error.time.mean) << "the fitted cells have the wrong ones";
}

TEST(ModelFit, EqualCellsGiveEqualDemands) {
  const WorkloadParameters& known = agx_orin().workloads.at("lstm");
  const std::vector<FitCell> some = chosen(modelled(known, {16}), 10);
  const Demand one = fit_workload(*agx_orin().model, some, start_of(known)).workload.base;
  const Demand other = fit_workload(*agx_orin().model, some, start_of(known)).workload.base;
  EXPECT_TRUE(one == other);
}

TEST(ModelFit, DoesNotLookAtTheDemandsOfItsStart) {
  const WorkloadParameters& known = agx_orin().workloads.at("lstm");
  const std::vector<FitCell> some = chosen(modelled(known, {16}), 10);
  WorkloadParameters told = start_of(known);
  told.base.A = 1e6;
  told.base.kg = 500;
  EXPECT_EQ(fit_workload(*agx_orin().model, some, told).workload.base.A,
            fit_workload(*agx_orin().model, some, start_of(known)).workload.base.A);
}

TEST(ModelFit, StaysFiniteOnCellsThatTellNearlyNothing) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18");
  std::vector<FitCell> cells = modelled(known, {16});
  const std::vector<FitCell> same(kLeastFitCells, cells.front());
  const ModelFit fit = fit_workload(*agx_orin().model, same, start_of(known));
  EXPECT_LT(fit.error.time.mean, 0.05);
  std::mt19937_64 engine(3);
  for (FitCell& cell : cells) {
    cell.minibatch_ms = 1 + static_cast<double>(engine() % 1'000'000);
    cell.power_w = 1 + static_cast<double>(engine() % 100);
  }
  const ModelFit nonsense = fit_workload(*agx_orin().model, chosen(cells, 20), start_of(known));
  for (const double number : {nonsense.workload.base.A, nonsense.workload.base.kg,
                              nonsense.error.time.mean, nonsense.error.power.mean}) {
    EXPECT_TRUE(std::isfinite(number));
  }
}

TEST(ModelFit, RefusesTooFewCellsAndSenselessOnes) {
  const WorkloadParameters& known = agx_orin().workloads.at("resnet18");
  std::vector<FitCell> cells = chosen(modelled(known, {16}), kLeastFitCells);
  EXPECT_NO_THROW(fit_workload(*agx_orin().model, cells, start_of(known)));
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<FitCell> bad = cells;
    bad[1].power_w = wrong;
    EXPECT_THROW(fit_workload(*agx_orin().model, bad, start_of(known)), std::invalid_argument);
  }
  cells.pop_back();
  EXPECT_THROW(fit_workload(*agx_orin().model, cells, start_of(known)), std::invalid_argument);
}

TEST(ModelFit, CellsAreSpreadEachOnceAndBySeed) {
  const std::vector<FitCell> cells = modelled(agx_orin().workloads.at("lstm"), {16});
  const std::vector<std::size_t> ten = spread_cells(cells, 10, 1);
  ASSERT_EQ(ten.size(), 10u);
  for (std::size_t i = 1; i < ten.size(); ++i) EXPECT_LT(ten[i - 1], ten[i]);
  EXPECT_EQ(spread_cells(cells, 10, 1), ten);
  EXPECT_NE(spread_cells(cells, 10, 2), ten);
  EXPECT_EQ(spread_cells(cells, cells.size() + 1, 1).size(), cells.size());
  EXPECT_EQ(spread_cells(cells, cells.size() - 1, 1).size(), cells.size() - 1);
}

// Of measured profiles, what is held out is predicted as well as docs/board-model.md says.
TEST(ModelFit, TenMeasuredCellsPredictTheOthers) {
  const std::filesystem::path data = measured_folder();
  if (!std::filesystem::exists(data)) GTEST_SKIP() << no_measured_data();
  for (const char* file : {"agx_orin_resnet_train.csv", "agx_orin_mobnet_train.csv",
                           "agx_orin_lstm_train.csv", "orin_nano_resnet_train.csv"}) {
    SCOPED_TRACE(file);
    const Profile profile = read_profiles(data / file).at(0);
    const BoardDescription& board = built_in_board(profile.device);
    const std::vector<FitCell> cells = fit_cells(board, profile);
    ASSERT_EQ(cells.size(), profile.cells().size());
    WorkloadParameters start;
    start.base.workers = 4;
    double time = 0;
    double power = 0;
    constexpr int kSeeds = 5;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      std::vector<FitCell> some;
      for (const std::size_t i : spread_cells(cells, 10, static_cast<std::uint64_t>(seed))) {
        some.push_back(cells[i]);
      }
      const ModelFit fit = fit_workload(*board.model, some, start);
      const CostError error = cost_error(*board.model, fit.workload, cells);
      time += error.time.mean / kSeeds;
      power += error.power.mean / kSeeds;
    }
    EXPECT_LT(time, 0.08);
    EXPECT_LT(power, 0.045);
  }
}

}  // namespace
}  // namespace gearshift
