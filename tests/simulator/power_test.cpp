#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>

#include "simulator/rail_sample.h"
#include "simulator/sensor_lag.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

using std::chrono::milliseconds;

class Power : public VirtualBoard {
 protected:
  void set_gpu_max(const std::string& hz) {
    EXPECT_EQ(write(std::string(kGpu) + "max_freq", hz), 0);
  }
};

RailPower even(double mw) { return {{mw, mw, mw, mw}}; }

TEST(SensorLag, MeansOverItsWindow) {
  SensorLag lag(LagShape::boxcar, milliseconds(430));
  const Time start(std::chrono::seconds(5));
  lag.change(start, even(1000));
  EXPECT_DOUBLE_EQ(lag.value(start).mw[0], 1000) << "it was so before, too";
  lag.change(start + milliseconds(100), even(3000));
  EXPECT_DOUBLE_EQ(lag.value(start + milliseconds(100)).mw[0], 1000);
  EXPECT_NEAR(lag.value(start + milliseconds(315)).mw[0], 2000, 1e-9);
  EXPECT_NEAR(lag.value(start + milliseconds(530)).mw[0], 3000, 1e-9);
  EXPECT_NEAR(lag.value(start + milliseconds(5000)).mw[0], 3000, 1e-9);
}

TEST(SensorLag, ForgetsNothingThatItsWindowStillSees) {
  SensorLag lag(LagShape::boxcar, milliseconds(430));
  const Time start(std::chrono::seconds(5));
  lag.change(start, even(0));
  for (int step = 0; step < 1000; ++step) {
    lag.change(start + milliseconds(step), even(step % 2 == 0 ? 1000 : 3000));
  }
  EXPECT_NEAR(lag.value(start + milliseconds(1000)).mw[0], 2000, 1e-6);
}

TEST(SensorLag, FollowsWithItsTimeConstant) {
  SensorLag lag(LagShape::first_order, milliseconds(700));
  const Time start(std::chrono::seconds(5));
  lag.change(start, even(1000));
  lag.change(start, even(2000));
  EXPECT_DOUBLE_EQ(lag.value(start).mw[0], 1000);
  const double after = 1000 + 1000 * (1 - std::exp(-1));
  EXPECT_NEAR(lag.value(start + milliseconds(700)).mw[0], after, 1e-9);
  lag.change(start + milliseconds(700), even(0));
  EXPECT_NEAR(lag.value(start + milliseconds(700)).mw[0], after, 1e-9);
}

TEST_F(Power, IsTheModelsForTheLoadAndTheClocks) {
  const BoardDescription& board = built_in_board("jetson-agx-orin");
  EXPECT_NEAR(board_->true_power_mw(), 1000 * idle_power_w(*board.model, board_->clocks()), 1e-6);
  start_load();
  const Demand demand = board.workloads.at("resnet18").demand(16);
  EXPECT_NEAR(board_->true_power_mw(),
              1000 * minibatch_cost(*board.model, demand, board_->clocks()).power_w, 1e-6);
}

TEST_F(Power, OfTwoLoadsIsTheMeanWeightedWithTheirTimes) {
  const BoardDescription& board = built_in_board("jetson-agx-orin");
  start_load("pid=1 name=resnet18 kind=train batch_size=16");
  start_load("pid=2 name=resnet18 kind=infer batch_size=4");
  const ModelMode mode = board_->clocks();
  const MinibatchCost train =
      minibatch_cost(*board.model, board.workloads.at("resnet18").demand(16), mode);
  const MinibatchCost infer =
      minibatch_cost(*board.model, board.workloads.at("resnet18-infer").demand(4), mode);
  const double mean_w = (train.minibatch_ms * train.power_w + infer.minibatch_ms * infer.power_w) /
                        (train.minibatch_ms + infer.minibatch_ms);
  EXPECT_NEAR(board_->true_power_mw(), 1000 * mean_w, 1e-6);
}

TEST_F(Power, ReadsAsTheTruthWithinTheStepsOfTheSensor) {
  start_load();
  wait(milliseconds(430));
  // Half a step of 20 mA at 19 V on two rails, and at 5 V on one.
  EXPECT_NEAR(sensed_mw(), board_->true_power_mw(), 190 + 190 + 51);
  const std::string folder = monitor("1-0040");
  EXPECT_EQ(number(folder + "in1_input") % 8, 0);
  EXPECT_EQ(number(folder + "curr1_input") % 20, 0);
  EXPECT_GT(number(folder + "in1_input"), 18000);
  EXPECT_LT(number(folder + "in3_input"), 5100);
}

TEST_F(Power, ReachesTheSensorAfterItsWindow) {
  start_load();
  wait(milliseconds(500));
  const double before = sensed_mw();
  set_gpu_max("1300500000");
  EXPECT_DOUBLE_EQ(sensed_mw(), before);
  wait(milliseconds(215));
  EXPECT_NEAR(sensed_mw(), (before + board_->true_power_mw()) / 2, 450);
  wait(milliseconds(215));
  EXPECT_NEAR(sensed_mw(), board_->true_power_mw(), 450);
}

TEST_F(Power, HasNoiseOfTheStatedSizeThatAskingDoesNotChange) {
  boot({.seed = 5, .noise = 0.02});
  start_load();
  wait(std::chrono::seconds(1));
  double sum = 0;
  double squares = 0;
  constexpr int kReads = 2000;
  for (int i = 0; i < kReads; ++i) {
    wait(milliseconds(100));
    const double ratio = sensed_mw() / board_->true_power_mw();
    EXPECT_DOUBLE_EQ(sensed_mw() / board_->true_power_mw(), ratio);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / kReads;
  EXPECT_NEAR(mean, 1, 0.003);
  EXPECT_NEAR(std::sqrt(squares / kReads - mean * mean), 0.02, 0.004);
}

// A reading is a mean of 430 ms, so those within as much are not independent of each other.
TEST_F(Power, NoiseIsOfAWholeWindow) {
  boot({.seed = 5, .noise = 0.2});
  start_load();
  wait(std::chrono::seconds(1));
  int changes = 0;
  double last = sensed_mw() / board_->true_power_mw();
  for (int i = 0; i < 430; ++i) {
    wait(milliseconds(100));
    const double ratio = sensed_mw() / board_->true_power_mw();
    if (std::abs(ratio - last) > 0.002) ++changes;
    last = ratio;
  }
  EXPECT_LE(changes, 100) << "43 s have a hundred windows";
  EXPECT_GE(changes, 95);
}

TEST_F(Power, HidesWhatTheSecondMonitorDoesNotUse) {
  const std::string folder = monitor("1-0041");
  EXPECT_EQ(read(folder + "in2_label"), "VDDQ_VDD2_1V8AO");
  EXPECT_EQ(error_of(folder + "in1_label"), ENOENT);
  EXPECT_EQ(error_of(folder + "in1_input"), ENODATA);
  EXPECT_EQ(error_of(folder + "curr3_input"), ENODATA);
  EXPECT_GT(number(folder + "curr2_input"), 0);
}

TEST_F(Power, AveragesOverAsManySamplesAsRootSays) {
  const std::string folder = monitor("1-0040");
  EXPECT_EQ(number(folder + "samples"), 512);
  EXPECT_EQ(number(folder + "update_interval"), 430);
  EXPECT_EQ(write(folder + "samples", "500"), EINVAL);
  EXPECT_EQ(write(folder + "samples", "64"), 0);
  start_load();
  wait(milliseconds(54));
  EXPECT_NEAR(sensed_mw(), board_->true_power_mw(), 450);
}

TEST_F(Power, OfHwmonHasNumbersThatTheSeedShuffles) {
  std::string first;
  bool differs = false;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    boot({.seed = seed});
    std::string names;
    const auto folders = board_->list("/sys/class/hwmon");
    for (const std::string& folder : folders.value()) {
      names += read("/sys/class/hwmon/" + folder + "/name") + ' ';
    }
    if (first.empty()) first = names;
    differs = differs || names != first;
  }
  EXPECT_TRUE(differs);
}

TEST_F(Power, WarmsTheBoard) {
  const std::string zone = "/sys/class/thermal/thermal_zone0/temp";
  const std::int64_t idle = number(zone);
  start_load();
  wait(std::chrono::seconds(20));
  const std::int64_t soon = number(zone);
  wait(std::chrono::minutes(30));
  const std::int64_t late = number(zone);
  EXPECT_GT(soon, idle);
  EXPECT_GT(late, soon);
  EXPECT_LT(late, 99000);
  EXPECT_EQ(error_of("/sys/class/thermal/thermal_zone2/temp"), EAGAIN) << "cv0 is off";
}

// What the guard and the margins of measurements rest on.
TEST(RailSample, TheTotalIsOffByNoMoreThanTheBoardFileTells) {
  const auto told_mw =
      static_cast<double>(find_board("jetson-agx-orin", built_in_boards())->power.rounding_mw);
  EXPECT_EQ(kTotalRoundingMw, told_mw);
  double most_mw = 0;
  for (int i = 0; i < 20000; ++i) {
    RailPower power;
    power[Rail::gpu_soc] = 2000 + 1.37 * i;
    power[Rail::cpu_cv] = 1000 + 0.61 * ((i * 7919) % 20000);
    power[Rail::sys_5v0] = 3000 + 0.11 * ((i * 104729) % 20000);
    const double shown_mw = static_cast<double>(sampled_total_mw(power));
    most_mw = std::max(most_mw, std::abs(shown_mw - power.total_mw()));
  }
  EXPECT_LE(most_mw, told_mw);
  EXPECT_GT(most_mw, 0.9 * told_mw);
}

}  // namespace
}  // namespace gearshift
