#include "boards/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fakes/built_in_board.h"
#include "tests/fakes/measured_data.h"

namespace gearshift {
namespace {

ModelMode highest_mode() {
  const KnobSpace space = agx_orin().knob_space();
  return model_mode(space, space.highest(), {});
}

// Every soft maximum is exact with an exponent of 1 (a sum), so the formulas can be followed by
// hand.
DeviceParameters sums_only() {
  DeviceParameters device;
  device.p = device.q = device.r = 1;
  return device;
}

TEST(CostModel, FollowsTheFormulasByHandWithWorkers) {
  DeviceParameters device = sums_only();
  device.kap = 0.5;
  device.J = 1;
  device.s = 0.25;
  device.s2 = 0.5;
  const Demand demand{
      .A = 8, .B = 6, .L = 4, .P = 12, .O = 2, .workers = 2, .fetch_ms = 3, .kg = 0};
  const ModelMode mode{.cpu_cores = 2, .cpu_ghz = 2, .gpu_ghz = 1, .mem_ghz = 2};
  // h = 1/2 + 0.5/2 = 0.75; contention = 1 + 0.5 * (1 - 2/4) = 1.25
  const double kernel = 8.0 / 1 + 6.0 / 2;                    // 11
  const double main_thread = 4 * 0.75 * 1.25;                 // 3.75
  const double gpu = kernel + main_thread;                    // 14.75
  const double work = (12 * 0.75 + 3) / 2;                    // 6
  const double pool = 18 * (1 + 0.25 * 0.5) * 1.5 / (4 - 1);  // 10.125
  const double own = 2 * 0.75 * 1.25;                         // 1.875
  const MinibatchCost cost = minibatch_cost(device, demand, mode);
  EXPECT_NEAR(cost.gpu_ms, gpu, 1e-12);
  EXPECT_NEAR(cost.minibatch_ms, gpu + work + pool + own, 1e-12);
  EXPECT_NEAR(cost.fetch_stall_ms, work + pool, 1e-12);
  EXPECT_NEAR(cost.gpu_utilization, kernel / cost.minibatch_ms, 1e-12);
}

TEST(CostModel, FollowsTheFormulasByHandWithoutWorkers) {
  DeviceParameters device = sums_only();
  device.s = 1;
  device.s2 = 1;
  const Demand demand{.A = 8, .B = 0, .L = 4, .P = 6, .O = 2, .workers = 0, .fetch_ms = 5, .kg = 0};
  const ModelMode mode{.cpu_cores = 1, .cpu_ghz = 2, .gpu_ghz = 1, .mem_ghz = 1};
  // h = 0.5; contention = 1 + (1 - 1/2) = 1.5; two threads share one core: 1 + (2 - 1) = 2
  const double gpu = 8 + 4 * 0.5 * 1.5;
  const double serial = gpu + (6 + 2) * 0.5 * 1.5 + 5;
  const double pool = 12 * 2.0 / 2;
  const MinibatchCost cost = minibatch_cost(device, demand, mode);
  EXPECT_NEAR(cost.minibatch_ms, serial + pool, 1e-12);
  EXPECT_NEAR(cost.fetch_stall_ms, 6 * 0.5 * 1.5 + 5 + pool, 1e-12);
}

TEST(CostModel, FollowsThePowerFormulaByHand) {
  DeviceParameters device = sums_only();
  device.p0 = 10;
  device.m0 = 0.5;
  device.d = 4;
  device.ci = 0.1;
  device.cc = 0.2;
  device.J = 0.5;
  device.gi = 3;
  device.rho = 0.25;
  device.gg = 2;
  device.svc = 0.5;
  device.fc0 = 1;
  device.svg = 1;
  device.fg0 = 0.5;
  const Demand demand{.A = 4, .B = 2, .workers = 4, .kg = 5};
  const ModelMode mode{.cpu_cores = 4, .cpu_ghz = 2, .gpu_ghz = 1, .mem_ghz = 2};
  // t = 4/1 + 2/2 = 5 = t_kern, so u = 1; voltages 1 + 0.5 * 1 and 1 + 1 * 0.5
  const double cpu = 2.25 * (0.1 * 8 + 0.2 * 0.5);
  const MinibatchCost cost = minibatch_cost(device, demand, mode);
  EXPECT_NEAR(cost.power_w, 10 + 0.5 * 2 + 4 * 2.0 / 5 + cpu + 2.25 * (3 * 1 + 2 * 5 * 4.0 / 5),
              1e-12);
  EXPECT_NEAR(idle_power_w(device, mode), 10 + 0.5 * 2 + cpu + 2.25 * (3 * 0.25), 1e-12);
}

TEST(CostModel, TrainingScalesFromItsReferenceBatch) {
  WorkloadParameters workload;
  workload.base = {.A = 20, .B = 40, .L = 7, .P = 16, .O = 8, .workers = 4, .fetch_ms = 2, .kg = 3};
  workload.reference_batch = 16;
  workload.a0 = 4;
  const Demand same = workload.demand(16);
  EXPECT_EQ(same.A, 20);
  EXPECT_EQ(same.P, 16);
  const Demand half = workload.demand(8);
  EXPECT_DOUBLE_EQ(half.A, 20 * 12.0 / 20);
  EXPECT_DOUBLE_EQ(half.B, 40 * 12.0 / 20);
  EXPECT_DOUBLE_EQ(half.L, 7);
  EXPECT_DOUBLE_EQ(half.P, 8);
  EXPECT_DOUBLE_EQ(half.O, 4);
  EXPECT_DOUBLE_EQ(half.fetch_ms, 1);
  EXPECT_EQ(half.kg, 3);
}

TEST(CostModel, InferenceIsAffineInTheBatch) {
  const WorkloadParameters& workload = agx_orin().workloads.at("resnet18-infer");
  const Demand one = workload.demand(1);
  const Demand three = workload.demand(3);
  EXPECT_DOUBLE_EQ(one.A, 2.42341 + 2.66861);
  EXPECT_NEAR(three.A - one.A, 2 * 2.66861, 1e-12);
  EXPECT_NEAR(three.L - one.L, 2 * 0.43401, 1e-12);
  EXPECT_EQ(three.kg, one.kg);
  EXPECT_EQ(three.workers, 4);
}

TEST(CostModel, KnowsTheIdlePowerOfAgxOrin) {
  EXPECT_NEAR(idle_power_w(*agx_orin().model, highest_mode()), 16.6, 0.05);
  const KnobSpace space = agx_orin().knob_space();
  EXPECT_NEAR(idle_power_w(*agx_orin().model, model_mode(space, space.lowest(), {})), 11.6, 0.1);
}

TEST(CostModel, StaysFiniteInEveryModeEvenWhereBackgroundWorkWouldFillTheCpu) {
  const KnobSpace space = agx_orin().knob_space();
  for (const auto& [name, workload] : agx_orin().workloads) {
    for (const PowerMode& mode : modes_by_power(agx_orin(), space)) {
      const MinibatchCost cost =
          minibatch_cost(*agx_orin().model, workload.demand(16), model_mode(space, mode, {}));
      ASSERT_TRUE(std::isfinite(cost.minibatch_ms) && cost.minibatch_ms > 0)
          << name << ' ' << space.describe(mode);
      ASSERT_LT(cost.minibatch_ms, 60'000) << name << ' ' << space.describe(mode);
      ASSERT_TRUE(cost.power_w > 11 && cost.power_w < 60) << name << ' ' << space.describe(mode);
      ASSERT_GE(cost.fetch_stall_ms, 0);
      ASSERT_LE(cost.gpu_ms + cost.fetch_stall_ms, cost.minibatch_ms * (1 + 1e-12));
    }
  }
}

TEST(CostModel, ADemandOfNothingCostsIdlePower) {
  const MinibatchCost cost = minibatch_cost(*agx_orin().model, {}, highest_mode());
  EXPECT_EQ(cost.minibatch_ms, 0);
  EXPECT_EQ(cost.power_w, idle_power_w(*agx_orin().model, highest_mode()));
}

// ---- against measured profiles ------------------------------------------------------------------

// Lines may end in CR LF.
bool next_line(std::istream& in, std::string& line) {
  if (!std::getline(in, line)) return false;
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

// "resnet,16,2,268.8,1236.75,665.6": the training cells that do not fit their neighbours.
std::set<std::string> suspect_cells() {
  std::set<std::string> cells;
  std::ifstream in(measured_folder() / "suspect_cells.csv");
  for (std::string line; next_line(in, line);) {
    const std::vector<std::string> cell = fields_of(line);
    if (cell.size() < 7 || cell[0].find("train") == std::string::npos) continue;
    cells.insert(cell[1] + ',' + cell[2] + ',' + cell[3] + ',' + cell[4] + ',' + cell[5] + ',' +
                 cell[6]);
  }
  return cells;
}

struct PublishedProfile {
  const char* file;
  const char* workload;
  std::size_t least_rows;
  double time_error;  // mean absolute percentage error, published 3.6, 4.0 and 2.9 %
  double power_error;
};

class MeasuredProfile : public testing::TestWithParam<PublishedProfile> {};

TEST_P(MeasuredProfile, IsMetByTheModel) {
  const PublishedProfile& profile = GetParam();
  std::ifstream in(measured_folder() / profile.file);
  if (!in) GTEST_SKIP() << no_measured_data();
  const std::set<std::string> suspects = suspect_cells();
  const WorkloadParameters& workload = agx_orin().workloads.at(profile.workload);
  double time_error = 0;
  double power_error = 0;
  std::size_t rows = 0;
  std::string line;
  ASSERT_TRUE(next_line(in, line));
  ASSERT_EQ(line,
            "device,workload,kind,batch_size,cpu_cores,cpu_mhz,gpu_mhz,mem_mhz,power_limit_w,"
            "minibatch_ms,epoch_s,power_w");
  while (next_line(in, line)) {
    const std::vector<std::string> row = fields_of(line);
    ASSERT_GE(row.size(), 12u) << line;
    if (suspects.contains(row[1] + ',' + row[3] + ',' + row[4] + ',' + row[5] + ',' + row[6] + ',' +
                          row[7])) {
      continue;
    }
    const MinibatchCost cost = minibatch_cost(*agx_orin().model, workload.demand(std::stod(row[3])),
                                              {.cpu_cores = std::stod(row[4]),
                                               .cpu_ghz = std::stod(row[5]) / 1000,
                                               .gpu_ghz = std::stod(row[6]) / 1000,
                                               .mem_ghz = std::stod(row[7]) / 1000});
    time_error += std::fabs(cost.minibatch_ms / std::stod(row[9]) - 1);
    power_error += std::fabs(cost.power_w / std::stod(row[11]) - 1);
    ++rows;
  }
  ASSERT_GE(rows, profile.least_rows);
  const double time_percent = 100 * time_error / static_cast<double>(rows);
  const double power_percent = 100 * power_error / static_cast<double>(rows);
  RecordProperty("time_error_percent", std::to_string(time_percent));
  RecordProperty("power_error_percent", std::to_string(power_percent));
  EXPECT_LT(time_percent, profile.time_error);
  EXPECT_LT(power_percent, profile.power_error);
  // Far better than this would mean that the model was not run on the data at all.
  EXPECT_GT(time_percent, 1);
  EXPECT_GT(power_percent, 0.5);
}

INSTANTIATE_TEST_SUITE_P(
    CostModel, MeasuredProfile,
    testing::Values(PublishedProfile{"agx_orin_resnet_train.csv", "resnet18", 4300, 4.5, 3},
                    PublishedProfile{"agx_orin_mobnet_train.csv", "mobilenet_v3", 4300, 4.5, 3},
                    PublishedProfile{"agx_orin_lstm_train.csv", "lstm", 430, 4.5, 3}),
    [](const auto& instance) { return std::string(instance.param.workload); });

TEST(CostModel, WaitingForSamplesCostsNoTimeOfAMinibatchAndLeavesTheGpuIdle) {
  DeviceParameters device = sums_only();
  device.kap = 0.5;
  device.rho = 0;
  device.gi = 1;
  device.cc = 1;
  Demand demand{.A = 80, .B = 0, .L = 4, .P = 0, .O = 0, .workers = 4, .fetch_ms = 0, .kg = 2};
  const ModelMode mode{.cpu_cores = 3, .cpu_ghz = 1, .gpu_ghz = 1, .mem_ghz = 1};
  const MinibatchCost ready = minibatch_cost(device, demand, mode);
  EXPECT_EQ(ready.cycle_ms, ready.minibatch_ms);
  demand.S = 160;  // h = 1.5, two of three cores load: 120 ms
  const MinibatchCost waits = minibatch_cost(device, demand, mode);
  EXPECT_EQ(waits.minibatch_ms, ready.minibatch_ms);
  EXPECT_EQ(waits.gpu_ms, ready.gpu_ms);
  const double cycle = std::pow(std::pow(ready.minibatch_ms, 4) + std::pow(120, 4), 0.25);
  EXPECT_NEAR(waits.cycle_ms, cycle, 1e-9);
  EXPECT_NEAR(waits.gpu_utilization, 80 / cycle, 1e-9);
  EXPECT_NEAR(waits.power_w, 80 / cycle + 2.0 * 80 / cycle + (4 + 160) / cycle, 1e-9);
  // One core is shared by all, and no worker at all is one.
  demand.workers = 0;
  EXPECT_GT(minibatch_cost(device, demand, {1, 1, 1, 1}).cycle_ms, 240);
}

TEST(CostModel, SamplesToLoadGrowWithTheBatchOfInference) {
  WorkloadParameters workload;
  workload.kind = Kind::infer;
  workload.slope.S = 3;
  EXPECT_DOUBLE_EQ(workload.demand(16).S, 48);
}

}  // namespace
}  // namespace gearshift
