#include "boards/model_check.h"

#include <gtest/gtest.h>

#include "tests/fakes/built_in_board.h"

namespace gearshift {
namespace {

// ResNet-18 training on AGX Orin at its highest clocks.
ModelTarget target(std::string_view metric, double value, double tolerance = 0.05) {
  ModelTarget target;
  target.id = "x";
  target.device = "orin_agx";
  target.workload = "resnet";
  target.batch_size = 16;
  target.workers = 4;
  target.cpu_cores = 12;
  target.cpu_mhz = 2201.6;
  target.gpu_mhz = 1300.5;
  target.mem_mhz = 3199;
  target.label = "MAXN";
  target.metric = metric;
  target.value = value;
  target.tolerance = tolerance;
  return target;
}

Judgement judged(const ModelTarget& target, std::span<const Profile> profiles = {}) {
  return judge(target, built_in_boards(), profiles);
}

MinibatchCost highest_cost() {
  const BoardDescription& board = built_in_board("orin_agx");
  const KnobSpace space = board.knob_space();
  return minibatch_cost(*board.model, board.workloads.at("resnet18").demand(16),
                        model_mode(space, space.highest(), {}));
}

TEST(ModelCheck, PredictsWhatAnEpochTakesAndCosts) {
  const MinibatchCost cost = highest_cost();
  const double batches = 50'000.0 / 16;
  EXPECT_DOUBLE_EQ(*judged(target("minibatch_ms", 1)).predicted, cost.minibatch_ms);
  EXPECT_DOUBLE_EQ(*judged(target("power_w", 1)).predicted, cost.power_w);
  EXPECT_NEAR(*judged(target("epoch_s", 1)).predicted, cost.minibatch_ms * batches / 1000, 1e-9);
  EXPECT_NEAR(*judged(target("compute_s", 1)).predicted, cost.gpu_ms * batches / 1000, 1e-9);
  EXPECT_NEAR(*judged(target("stall_s", 1)).predicted,
              (cost.minibatch_ms - cost.gpu_ms) * batches / 1000, 1e-9)
      << "stall and compute make up the epoch";
  EXPECT_NEAR(*judged(target("energy_j", 1)).predicted,
              cost.power_w * cost.minibatch_ms * batches / 1000, 1e-6);
}

TEST(ModelCheck, ToleranceIsRelativeAndReachesItsBound) {
  EXPECT_TRUE(within_tolerance(target("power_w", 100, 0.05), {105.0, ""}));
  EXPECT_TRUE(within_tolerance(target("power_w", 100, 0.05), {95.0, ""}));
  EXPECT_FALSE(within_tolerance(target("power_w", 100, 0.05), {105.1, ""}));
  EXPECT_FALSE(within_tolerance(target("power_w", 100, 0.05), {94.9, ""}));
}

TEST(ModelCheck, ComparesModesBatchSizesAndWorkers) {
  ModelTarget ratio = target("ratio", 1);
  ratio.unit = "x";
  ratio.device = "agx_xavier";
  ratio.label = "GPU compute: e over d";
  EXPECT_LT(*judged(ratio).predicted, 1) << "e has a faster CPU";
  ratio.label = "stall: d over d";
  EXPECT_EQ(*judged(ratio).predicted, 1);
  ratio.id = "x_time_ratio";
  ratio.label = "GPU 114.75 MHz over MAXN";
  EXPECT_GT(*judged(ratio).predicted, 5);
  ratio.label = "g, w=0 over w=4";
  EXPECT_GT(*judged(ratio).predicted, 1);
  ratio.label = "compute per minibatch, bs 32 over 16";
  EXPECT_GT(*judged(ratio).predicted, 1.3);
}

TEST(ModelCheck, SweepsAKnobOverItsTable) {
  ModelTarget sweep = target("power_span_w", 1);
  sweep.gpu_mhz.reset();
  sweep.sweep = "gpu_mhz";
  EXPECT_GT(*judged(sweep).predicted, 15);
  sweep.metric = "latency_span_s";
  EXPECT_GT(*judged(sweep).predicted, 100);
  sweep.cpu_mhz.reset();
  EXPECT_EQ(judged(sweep).reason, "the sweep leaves other knobs open");
}

TEST(ModelCheck, TakesTheModesOfAGridFromAProfileAndNothingElse) {
  Profile profile(KnobSpace{{{"gpu_mhz", Unit::khz, KnobClass::clock, {306'000, 1'300'500}}}});
  profile.device = "orin_agx";
  profile.workload = "resnet";
  for (const std::int64_t khz : {306'000, 1'300'500}) {
    ASSERT_TRUE(profile.add({.mode = {.values = {khz}, .count = 1},
                             .batch_size = 16,
                             .minibatch_ms = 12345,
                             .power_w = 1,
                             .epoch_s = {}}));
  }
  ModelTarget span = target("ratio", 1);
  span.unit = "x";
  span.id = "x_time_span";
  span.label = "all 2 modes";
  EXPECT_EQ(judged(span).reason, "which 2 modes is not told; give their profile");
  const double ratio = *judged(span, {&profile, 1}).predicted;
  EXPECT_GT(ratio, 1.5);
  EXPECT_LT(ratio, 5);
  ModelTarget hours = target("hours", 1);
  hours.label = "2 modes x 100 minibatches";
  const double seconds = 3600 * *judged(hours, {&profile, 1}).predicted;
  const double fast_s = highest_cost().minibatch_ms / 1000;
  EXPECT_NEAR(seconds, 100 * fast_s * (1 + ratio), 1e-6);
}

TEST(ModelCheck, FindsTheGpuClockOfLeastEnergy) {
  ModelTarget least = target("gpu_mhz", 1);
  const double mhz = *judged(least).predicted;
  EXPECT_GT(mhz, 306) << "the lowest clock pays idle power for too long";
  EXPECT_LT(mhz, 1300.5) << "the highest needs too high a voltage";
}

TEST(ModelCheck, IdlePowerNeedsNoWorkload) {
  ModelTarget idle = target("power_w", 7.5);
  idle.device = "agx_xavier";
  idle.workload = "";
  EXPECT_EQ(judged(idle).reason, "no workload is named");
  idle.label = "g, idle with logging";
  EXPECT_GT(*judged(idle).predicted, 4);
}

struct Unsaid {
  const char* metric;
  const char* label;
  const char* unit;
  const char* reason;
};

TEST(ModelCheck, SaysWhatItCannotExpress) {
  const Unsaid unsaid[] = {
      {"mape", "", "%", "'mape' is no quantity of the model"},
      {"percent", "MAXN", "% of 8 cores", "GPU utilisation is the one percentage"},
      {"epoch_s", "MAXN, DVFS on", "s", "a frequency governor"},
      {"stall_s", "epoch 0, w=0, SSD", "s", "a disk"},
      {"ratio", "e over d", "bool", "'bool' is no quantity of the model"},
      {"ratio", "e over d", "x", "neither label nor id tells"},
      {"ratio", "stall: e over MAXN", "x", "'e' is no published mode of jetson-agx-orin"},
      {"ratio", "R^2", "x", "compares nothing"},
      {"hours", "a day", "h", "tells no grid"},
      {"power_span_w", "sweep", "W", "no sweep of a knob"},
  };
  for (const Unsaid& one : unsaid) {
    ModelTarget row = target(one.metric, 1);
    row.label = one.label;
    row.unit = one.unit;
    const Judgement judgement = judged(row);
    EXPECT_FALSE(judgement.predicted) << one.metric << ' ' << one.label;
    EXPECT_NE(judgement.reason.find(one.reason), std::string::npos) << judgement.reason;
  }
  ModelTarget unknown = target("epoch_s", 1);
  unknown.workload = "bert";
  EXPECT_EQ(judged(unknown).reason, "no parameters of 'bert' on jetson-agx-orin");
  unknown.device = "host";
  EXPECT_EQ(judged(unknown).reason, "no board with a model is called 'host'");
  ModelTarget open = target("power_w", 1);
  open.mem_mhz.reset();
  EXPECT_EQ(judged(open).reason, "no mode is given");
}

}  // namespace
}  // namespace gearshift
