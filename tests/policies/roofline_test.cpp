#include "policies/numerics/roofline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "boards/board_model.h"

namespace gearshift {
namespace {

const BoardDescription& orin_board() { return *find_board("jetson-agx-orin", built_in_boards()); }

const WorkloadParameters& workload(const char* name, Kind kind = Kind::train) {
  return orin_board().find_workload(name, kind)->second;
}

RooflineRow measured(const WorkloadParameters& of, const ModelMode& mode, double batch_size) {
  const MinibatchCost cost =
      minibatch_cost(orin_board().parameters(of.kind), of.demand(batch_size), mode);
  return {mode, batch_size, cost.minibatch_ms, cost.power_w};
}

// Modes all over the board, `count` of them.
std::vector<RooflineRow> rows(const WorkloadParameters& of, int count, std::uint64_t seed,
                              std::vector<double> batch_sizes = {16}) {
  std::mt19937_64 engine(seed);
  const auto one_of = [&](std::initializer_list<double> list) {
    return *(list.begin() + static_cast<std::ptrdiff_t>(engine() % list.size()));
  };
  std::vector<RooflineRow> made;
  for (int i = 0; i < count; ++i) {
    const ModelMode mode{one_of({2, 4, 8, 12}), one_of({0.4224, 0.9, 1.4, 2.2016}),
                         one_of({0.11475, 0.4, 0.8, 1.3005}), one_of({0.6656, 2.133, 3.199})};
    made.push_back(measured(of, mode, batch_sizes[engine() % batch_sizes.size()]));
  }
  return made;
}

struct Errors {
  double time = 0;
  double power = 0;
};

// Mean relative errors of the estimate on other modes.
Errors errors(const RooflineEstimate& estimate, const std::vector<RooflineRow>& truth) {
  Errors sum;
  for (const RooflineRow& row : truth) {
    const RooflinePredictor predictor(orin_board().parameters(estimate.shape.kind), estimate,
                                      row.batch_size);
    const RooflinePrediction one = predictor.predict(row.mode);
    sum.time += std::fabs(std::exp(one.log_time) / row.minibatch_ms - 1);
    sum.power += std::fabs(std::exp(one.log_power) / row.power_w - 1);
  }
  const auto count = static_cast<double>(truth.size());
  return {sum.time / count, sum.power / count};
}

TEST(Roofline, FindsAWorkloadFromTenModesWithoutAPrior) {
  for (const char* name : {"resnet", "mobnet", "lstm"}) {
    const WorkloadParameters& truth = workload(name);
    const RooflineEstimate estimate =
        fit_roofline(orin_board().parameters(Kind::train), rows(truth, 10, 1), {}, nullptr);
    const Errors off = errors(estimate, rows(truth, 100, 2));
    EXPECT_LT(off.time, 0.03) << name;
    EXPECT_LT(off.power, 0.015) << name;
    EXPECT_EQ(estimate.doubted, 0U) << name;
    EXPECT_NEAR(estimate.power_scale(), 1, 0.01) << name;
  }
}

// What was cut short for late requests before a minibatch had ended: it takes more, by any factor.
TEST(Roofline, LearnsThatWhatAnsweredLateIsSlower) {
  const WorkloadParameters& truth = workload("resnet", Kind::infer);
  const std::vector<RooflineRow> told = {measured(truth, {4, 1.0368, 1.3005, 3.199}, 4),
                                         measured(truth, {8, 2.2016, 0.4, 3.199}, 4),
                                         measured(truth, {12, 2.2016, 1.3005, 3.199}, 16)};
  const RooflineRow slow = measured(truth, {8, 2.2016, 1.3005, 0.204}, 16);
  struct Fitted {
    RooflineEstimate estimate;
    RooflinePrediction of_slow;
  };
  const auto fitted = [&](double minibatch_ms, bool slower = true) {
    std::vector<RooflineRow> all = told;
    if (minibatch_ms > 0) all.push_back({slow.mode, 16, minibatch_ms, 0, slower});
    const DeviceParameters& device = orin_board().parameters(Kind::infer);
    const RooflineEstimate estimate = fit_roofline(device, all, {.kind = Kind::infer}, nullptr);
    return Fitted{estimate, RooflinePredictor(device, estimate, 16).predict(slow.mode)};
  };
  const Fitted before = fitted(0);
  const double expected_ms = std::exp(before.of_slow.log_time);
  const Fitted known = fitted(0.9 * expected_ms);
  EXPECT_NEAR(known.of_slow.log_time, before.of_slow.log_time, 1e-3) << "no news";
  EXPECT_NEAR(known.of_slow.time_deviation, before.of_slow.time_deviation, 1e-3);
  const double slower_ms = 0.9 * slow.minibatch_ms;
  EXPECT_LT(expected_ms, 0.7 * slower_ms);
  const Fitted slower = fitted(slower_ms);
  EXPECT_GT(std::exp(slower.of_slow.log_time), 0.9 * slower_ms);
  EXPECT_GT(slower.of_slow.time_deviation, 3 * fitted(slower_ms, false).of_slow.time_deviation);
  EXPECT_LT(slower.estimate.time_error, 0.01) << "what was measured is believed as well";
  EXPECT_EQ(slower.estimate.doubted, 0U);
}

TEST(Roofline, FindsInferenceOfSeveralBatchSizes) {
  const WorkloadParameters& truth = workload("resnet", Kind::infer);
  const RooflineEstimate estimate =
      fit_roofline(orin_board().parameters(Kind::infer), rows(truth, 20, 1, {1, 4, 16, 64}),
                   {.kind = Kind::infer}, nullptr);
  const Errors off = errors(estimate, rows(truth, 100, 2, {1, 4, 16, 64}));
  EXPECT_LT(off.time, 0.05);
  EXPECT_LT(off.power, 0.02);
}

TEST(Roofline, IsNotRuinedByModesThatWereNotApplied) {
  const WorkloadParameters& truth = workload("mobnet");
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  std::vector<RooflineRow> some = rows(truth, 10, 1);
  const Errors before = errors(fit_roofline(device, some, {}, nullptr), rows(truth, 100, 2));
  for (RooflineRow& row : some) {  // asked for the highest clocks, and at the lowest ones
    if (row.mode.gpu_ghz < 1) continue;
    const RooflineRow slow = measured(truth, {4, 0.4224, 0.11475, 0.6656}, 16);
    row.minibatch_ms = slow.minibatch_ms;
    row.power_w = slow.power_w;
    break;
  }
  const RooflineEstimate estimate = fit_roofline(device, some, {}, nullptr);
  const Errors after = errors(estimate, rows(truth, 100, 2));
  EXPECT_EQ(estimate.doubted, 1U);
  EXPECT_LT(after.time, before.time + 0.03);
  EXPECT_LT(after.power, before.power + 0.02);
}

TEST(Roofline, TakesASensorThatShowsHalfAsMuchAgain) {
  const WorkloadParameters& truth = workload("resnet");
  std::vector<RooflineRow> some = rows(truth, 10, 1);
  std::vector<RooflineRow> others = rows(truth, 100, 2);
  for (std::vector<RooflineRow>* all : {&some, &others}) {
    for (RooflineRow& row : *all) row.power_w *= 1.5;
  }
  const RooflineEstimate estimate =
      fit_roofline(orin_board().parameters(Kind::train), some, {}, nullptr);
  EXPECT_NEAR(estimate.power_scale(), 1.5, 0.03);
  EXPECT_LT(errors(estimate, others).power, 0.015);
}

TEST(Roofline, ExpectsAnotherWorkloadBeforeItIsTold) {
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  const WorkloadParameters& other = workload("mobnet");
  const RooflineEstimate prior = fit_roofline(device, rows(other, 40, 3), {}, nullptr);
  const RooflineEstimate untold = fit_roofline(device, {}, {}, &prior);
  EXPECT_LT(errors(untold, rows(other, 100, 2)).time, 0.03);
  const ModelMode middle{8, 1.2, 0.6, 2.133};
  const RooflinePrediction unsure = RooflinePredictor(device, untold, 16).predict(middle);
  EXPECT_GT(unsure.time_deviation, 0.5);  // a workload may be several times as heavy

  // One row tells the scale, and ten of them the rest.
  const WorkloadParameters& truth = workload("resnet");
  const RooflineEstimate one = fit_roofline(device, rows(truth, 1, 1), {}, &prior);
  const RooflineEstimate ten = fit_roofline(device, rows(truth, 10, 1), {}, &prior);
  const RooflinePrediction first = RooflinePredictor(device, one, 16).predict(middle);
  const RooflinePrediction last = RooflinePredictor(device, ten, 16).predict(middle);
  EXPECT_LT(first.time_deviation, unsure.time_deviation);
  EXPECT_LT(last.time_deviation, first.time_deviation);
  EXPECT_LT(last.power_deviation, unsure.power_deviation);
}

TEST(Roofline, LearnsFromAModeThatWasCutAboveItsCap) {
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  const WorkloadParameters& truth = workload("resnet");
  std::vector<RooflineRow> some = rows(truth, 2, 5);
  const ModelMode highest{12, 2.2016, 1.3005, 3.199};
  const RooflinePrediction before =
      RooflinePredictor(device, fit_roofline(device, some, {}, nullptr), 16).predict(highest);
  const double cap_w = 1.2 * std::exp(before.log_power);
  some.push_back({.mode = highest, .batch_size = 16, .minibatch_ms = 0, .power_w = cap_w});
  const RooflinePrediction after =
      RooflinePredictor(device, fit_roofline(device, some, {}, nullptr), 16).predict(highest);
  EXPECT_GT(after.log_power, before.log_power + 0.05);
  // One that is known to be above a cap far below it says nothing.
  some.back().power_w = 1;
  const RooflinePrediction same =
      RooflinePredictor(device, fit_roofline(device, some, {}, nullptr), 16).predict(highest);
  EXPECT_NEAR(same.log_power, before.log_power, 0.02);
}

// What was cut short for late requests shows its time and no power.
TEST(Roofline, LearnsTheTimeOfWhatAnsweredLate) {
  const WorkloadParameters& truth = workload("resnet", Kind::infer);
  std::vector<RooflineRow> told = rows(truth, 3, 1, {1, 4, 16});
  const auto off = [&] {
    const RooflineEstimate estimate =
        fit_roofline(orin_board().parameters(Kind::infer), told, {.kind = Kind::infer}, nullptr);
    EXPECT_LT(estimate.power_error, 0.1);
    return errors(estimate, rows(truth, 100, 2, {1, 4, 16}));
  };
  const Errors before = off();
  for (RooflineRow late : rows(truth, 10, 3, {1, 4, 16})) {
    late.power_w = 0;
    told.push_back(late);
  }
  const Errors after = off();
  EXPECT_LT(after.time, 0.2 * before.time);
  EXPECT_LT(after.time, 0.05);
  EXPECT_LT(after.power, 1.2 * before.power);
}

TEST(Roofline, SaysHowSureItIs) {
  // Measurements with noise land within two of the deviations that were foretold, most of the time.
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  const WorkloadParameters& truth = workload("lstm");
  std::mt19937_64 engine(9);
  const auto noise = [&](double deviation) {  // a sum of twelve uniform draws is nearly normal
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine() >> 11) * 0x1p-53;
    return std::exp(deviation * sum);
  };
  const auto noisy = [&](std::vector<RooflineRow> list) {
    for (RooflineRow& row : list) {
      row.minibatch_ms *= noise(0.04);
      row.power_w *= noise(0.02);
    }
    return list;
  };
  const RooflineEstimate estimate = fit_roofline(device, noisy(rows(truth, 8, 1)), {}, nullptr);
  int time_inside = 0;
  int power_inside = 0;
  for (const RooflineRow& row : noisy(rows(truth, 200, 2))) {
    const RooflinePrediction one = RooflinePredictor(device, estimate, 16).predict(row.mode);
    time_inside += std::fabs(one.log_time - std::log(row.minibatch_ms)) < 2 * one.time_deviation;
    power_inside += std::fabs(one.log_power - std::log(row.power_w)) < 2 * one.power_deviation;
  }
  EXPECT_GT(time_inside, 160);
  EXPECT_GT(power_inside, 160);
}

TEST(Roofline, GivesEqualBytesForEqualRows) {
  const std::vector<RooflineRow> some = rows(workload("resnet"), 7, 4);
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  const RooflineEstimate one = fit_roofline(device, some, {}, nullptr);
  const RooflineEstimate other = fit_roofline(device, some, {}, nullptr);
  EXPECT_EQ(one.logs, other.logs);
  EXPECT_EQ(one.covariance, other.covariance);
}

TEST(Roofline, StaysFiniteWhateverTheRows) {
  const DeviceParameters& device = orin_board().parameters(Kind::train);
  const ModelMode mode{1, 0.1, 0.1, 0.2};
  std::vector<RooflineRow> odd = {{mode, 1, 1e-6, 1e-6}, {mode, 1e6, 1e9, 1e9}, {mode, 16, 1, 1}};
  odd.resize(kMostRooflineRows, odd.back());
  for (std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}, odd.size()}) {
    const RooflineEstimate estimate =
        fit_roofline(device, std::span(odd).first(count), {}, nullptr);
    const RooflinePrediction one = RooflinePredictor(device, estimate, 16).predict(mode);
    EXPECT_TRUE(std::isfinite(one.log_time) && std::isfinite(one.log_power)) << count;
    EXPECT_TRUE(one.time_deviation > 0 && one.power_deviation > 0) << count;
  }
}

}  // namespace
}  // namespace gearshift
