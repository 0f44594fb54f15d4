#include "simulator/emulated_workload.h"

#include <chrono>
#include <cmath>

#include "simulator/board_clocks.h"
#include "tests/fakes/temp_tree.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

constexpr ModelMode kSlower{.cpu_cores = 4, .cpu_ghz = 1.1136, .gpu_ghz = 0.408, .mem_ghz = 2.133};

double model_ms(const ModelMode& mode, double batch_size = 16) {
  return minibatch_cost(*agx_orin().model, agx_orin().workloads.at("resnet18").demand(batch_size),
                        mode)
      .minibatch_ms;
}

EmulatedWorkload resnet(EmulationOptions options = {.jitter = 0}) {
  return {*agx_orin().model, agx_orin().workloads.at("resnet18"), 16, options};
}

// Works in slices until a minibatch ends.
EmulatedMinibatch next(EmulatedWorkload& work, const ModelMode& mode, double others_ms = 0) {
  for (int slice = 0; slice < 100'000; ++slice) {
    work.work(milliseconds(20), mode, others_ms);
    if (const auto finished = work.take_finished()) return *finished;
  }
  ADD_FAILURE() << "no minibatch ended";
  return {};
}

TEST(EmulatedWorkload, TakesTheTimeOfTheModel) {
  EmulatedWorkload work = resnet();
  const EmulatedMinibatch minibatch = next(work, kHighestMode);
  EXPECT_NEAR(1e3 * gearshift::seconds(minibatch.elapsed), model_ms(kHighestMode), 1e-3);
  EXPECT_EQ(minibatch.batch_size, 16);
  const MinibatchCost cost = minibatch_cost(
      *agx_orin().model, agx_orin().workloads.at("resnet18").demand(16), kHighestMode);
  EXPECT_NEAR(1e3 * gearshift::seconds(minibatch.fetch_stall), cost.fetch_stall_ms, 1e-3);
  EXPECT_NEAR(1e3 * gearshift::seconds(minibatch.compute), cost.gpu_ms, 1e-3);
}

TEST(EmulatedWorkload, AMinibatchIsOfTheEpochInWhichItBegan) {
  EmulatedWorkload even = resnet({.jitter = 0, .samples_per_epoch = 32});
  EmulatedWorkload odd = resnet({.jitter = 0, .samples_per_epoch = 40});
  EmulatedWorkload unknown = resnet({.jitter = 0});
  for (const std::uint32_t epoch : {0U, 0U, 1U, 1U, 2U})
    EXPECT_EQ(next(even, kHighestMode).epoch, epoch);
  for (const std::uint32_t epoch : {0U, 0U, 0U, 1U, 1U})
    EXPECT_EQ(next(odd, kHighestMode).epoch, epoch);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(next(unknown, kHighestMode).epoch, 0U);
}

TEST(EmulatedWorkload, TellsWhatRemainsToTheNanosecond) {
  EmulatedWorkload work = resnet();
  const Duration whole = work.remaining(kHighestMode);
  work.work(whole - Duration(2), kHighestMode);
  EXPECT_FALSE(work.take_finished());
  work.work(Duration(4), kHighestMode);
  EXPECT_TRUE(work.take_finished());
}

TEST(EmulatedWorkload, FeelsAClockThatChangesInMidMinibatch) {
  EmulatedWorkload work = resnet();
  const Duration half(std::llround(model_ms(kSlower) * 1e6 / 2));
  EXPECT_EQ(work.work(half, kSlower), half);
  const EmulatedMinibatch minibatch = next(work, kHighestMode);
  EXPECT_NEAR(1e3 * gearshift::seconds(minibatch.elapsed),
              (model_ms(kSlower) + model_ms(kHighestMode)) / 2, 1e-3);
}

TEST(EmulatedWorkload, WarmsUpLongerTheSlowerTheCpu) {
  const EmulationOptions options{
      .jitter = 0, .warm_up = std::chrono::seconds(3), .highest_cpu_ghz = 2.2016};
  EmulatedWorkload fast = resnet(options);
  EXPECT_NEAR(1e3 * gearshift::seconds(next(fast, kHighestMode).elapsed),
              3000 + model_ms(kHighestMode), 1e-3);
  EXPECT_NEAR(1e3 * gearshift::seconds(next(fast, kHighestMode).elapsed), model_ms(kHighestMode),
              1e-3);
  EmulatedWorkload slow = resnet(options);
  EXPECT_NEAR(1e3 * gearshift::seconds(next(slow, kSlower).elapsed),
              3000 * 2.2016 / 1.1136 + model_ms(kSlower), 1e-3);
}

TEST(EmulatedWorkload, UsesUpItsPrefetchedBatchesFirst) {
  EmulatedWorkload work = resnet();
  work.request_batch_size(32);
  EXPECT_TRUE(work.batch_size_pending());
  for (int i = 0; i < 1 + EmulatedWorkload::kPrefetchedBatches; ++i) {
    EXPECT_EQ(next(work, kHighestMode).batch_size, 16) << i;
  }
  EXPECT_EQ(work.batch_size(), 32);
  EXPECT_FALSE(work.batch_size_pending());
  EXPECT_NEAR(1e3 * gearshift::seconds(next(work, kHighestMode).elapsed),
              model_ms(kHighestMode, 32), 1e-3);
}

TEST(EmulatedWorkload, TakesTheNewestRequest) {
  EmulatedWorkload work = resnet();
  work.request_batch_size(32);
  next(work, kHighestMode);
  work.request_batch_size(8);
  next(work, kHighestMode);
  EXPECT_EQ(next(work, kHighestMode).batch_size, 16);
  EXPECT_EQ(work.batch_size(), 8);
  work.request_batch_size(64);
  work.request_batch_size(8);
  EXPECT_FALSE(work.batch_size_pending()) << "back to what it is";
  work.request_batch_size(64);
  work.drain();
  EXPECT_EQ(work.batch_size(), 64) << "a workload that waits has nothing prefetched";
}

TEST(EmulatedWorkload, JittersByAsMuchAsItIsTold) {
  EmulatedWorkload work = resnet({.seed = 4, .jitter = 0.05});
  double sum = 0;
  double squares = 0;
  constexpr int kMinibatches = 4000;
  for (int i = 0; i < kMinibatches; ++i) {
    const double ratio =
        1e3 * gearshift::seconds(next(work, kHighestMode).elapsed) / model_ms(kHighestMode);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kMinibatches;
  EXPECT_NEAR(mean, 1, 0.005);
  EXPECT_NEAR(std::sqrt(squares / kMinibatches - mean * mean), 0.05, 0.003);
}

TEST(EmulatedWorkload, RepeatsItselfForASeed) {
  EmulatedWorkload one = resnet({.seed = 9, .jitter = 0.03});
  EmulatedWorkload same = resnet({.seed = 9, .jitter = 0.03});
  EmulatedWorkload other = resnet({.seed = 10, .jitter = 0.03});
  const Duration first = next(one, kHighestMode).elapsed;
  EXPECT_EQ(next(same, kHighestMode).elapsed, first);
  EXPECT_NE(next(other, kHighestMode).elapsed, first);
}

TEST(EmulatedWorkload, TakesTurnsWithOthers) {
  const std::string loads =
      "pid=1 name=resnet18 kind=train batch_size=16 run=1\n"
      "pid=2 name=resnet18 kind=train batch_size=16 run=1\n"
      "pid=3 name=lstm kind=train batch_size=16 run=0\n";
  const double others_ms = other_loads_ms(loads, 1, agx_orin(), kHighestMode);
  EXPECT_DOUBLE_EQ(others_ms, model_ms(kHighestMode));
  EmulatedWorkload work = resnet();
  EXPECT_NEAR(1e3 * gearshift::seconds(next(work, kHighestMode, others_ms).elapsed),
              2 * model_ms(kHighestMode), 1e-3);
}

class ClocksOfATree : public ::testing::Test {
 protected:
  void SetUp() override {
    tree_.put("/sys/devices/system/cpu/online", "0-1,4\n");
    put_policy("0", "0 1 2 3", "2000000");
    put_policy("4", "4 5 6 7", "1000000");
    tree_.put("/sys/class/devfreq/1.nvenc/device/of_node/name", "nvenc");
    tree_.put("/sys/class/devfreq/2.gpu/device/of_node/name", "gpu");
    tree_.put("/sys/class/devfreq/2.gpu/cur_freq", "612000000\n");
    tree_.put("/sys/kernel/debug/bpmp/debug/clk/emc/rate", "2133000000\n");
  }
  void put_policy(const std::string& number, const char* cores, const char* khz) {
    const std::string folder = "/sys/devices/system/cpu/cpufreq/policy" + number;
    tree_.put(folder + "/related_cpus", cores);
    tree_.put(folder + "/scaling_cur_freq", khz);
  }
  fakes::TempTree tree_;
};

TEST_F(ClocksOfATree, AreReadAsTheyAreNow) {
  Sysroot root(tree_.root());
  BoardClocks clocks(agx_orin(), root);
  EXPECT_DOUBLE_EQ(clocks.read().cpu_cores, 3);
  EXPECT_DOUBLE_EQ(clocks.read().cpu_ghz, (2.0 + 2.0 + 1.0) / 3);
  EXPECT_DOUBLE_EQ(clocks.read().gpu_ghz, 0.612);
  EXPECT_DOUBLE_EQ(clocks.read().mem_ghz, 2.133);
  tree_.put("/sys/class/devfreq/2.gpu/cur_freq", "306000000\n");
  EXPECT_DOUBLE_EQ(clocks.read().gpu_ghz, 0.306);
  tree_.put("/sys/class/devfreq/2.gpu/cur_freq", "");
  EXPECT_DOUBLE_EQ(clocks.read().gpu_ghz, 0.306) << "a read that fails gives the one before it";
}

TEST_F(ClocksOfATree, TakeAClosedMemoryClockForItsHighest) {
  tree_.remove("/sys/kernel/debug");
  Sysroot root(tree_.root());
  BoardClocks clocks(agx_orin(), root);
  EXPECT_DOUBLE_EQ(clocks.read().mem_ghz, 3.199);
}

TEST_F(ClocksOfATree, AreMissedWhereThereIsNoGpu) {
  tree_.remove("/sys/class/devfreq/2.gpu");
  Sysroot root(tree_.root());
  EXPECT_THROW(BoardClocks(agx_orin(), root), FileError);
}

}  // namespace
}  // namespace gearshift
