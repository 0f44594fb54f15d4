#include "simulator/interleaved_optimum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "simulator/load.h"
#include "tests/fakes/fake_board.h"
#include "tests/simulator/board_fixture.h"
#include "tests/simulator/trainer_and_server.h"

namespace gearshift {
namespace {

constexpr Duration kWindow = std::chrono::milliseconds(430);

struct Pair {
  BoardDescription board = built_in_board("jetson-agx-orin");
  KnobSpace space = board.knob_space();
  ModelCosts train{board, space, board.find_workload("resnet18", Kind::train)->second};
  ModelCosts infer{board, space, board.find_workload("mobilenet_v3", Kind::infer)->second};
  SimulationProblem problem;

  Pair() {
    for (Knob& knob : space.knobs) {
      while (knob.values.size() > 4) knob.values.erase(knob.values.begin() + 1);
    }
    problem.knobs = space;
    problem.goal = {.objective = Objective::throughput,
                    .power_mw = 30'000,
                    .latency = std::chrono::milliseconds(500),
                    .arrivals_per_s = 60};
    SimulatedTask task;
    task.batch_sizes = {16};
    task.batch_size = 16;
    task.costs = &train;
    problem.tasks.push_back(task);
    task.kind = Kind::infer;
    task.batch_sizes = {1, 4, 16, 32};
    task.batch_size = 1;
    task.costs = &infer;
    problem.tasks.push_back(task);
  }
};

TEST(Beside, InASilenceOnlyTrainingCounts) {
  Pair pair;
  Goal goal = pair.problem.goal;
  goal.arrivals_per_s = 0;
  const auto best = interleaved_optimum(pair.problem, goal, Beside::requests, Time{});
  ASSERT_TRUE(best);
  EXPECT_LE(best->cost.power_w, 30);
  EXPECT_DOUBLE_EQ(best->cost.power_w, best->cost.train.power_w);
  EXPECT_DOUBLE_EQ(best->cost.minibatches_per_s, 1e3 / best->cost.train.minibatch_ms);
  const auto busy = interleaved_optimum(pair.problem, pair.problem.goal, Beside::requests, Time{});
  ASSERT_TRUE(busy);
  EXPECT_GT(best->cost.minibatches_per_s, busy->cost.minibatches_per_s);
}

TEST(Beside, CountsWholeMinibatchesAndTheHigherPowerWhereRequestsComeLikeClockwork) {
  Goal goal{.latency = std::chrono::milliseconds(400), .arrivals_per_s = 40};
  TrueCost train, infer;
  train.minibatch_ms = 30;
  train.power_w = 30;
  infer.minibatch_ms = 20;
  infer.power_w = 20;
  const auto cost = beside(goal, Beside::windows, kWindow, 4, train, infer);
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->minibatches_per_s, 20) << "2 of 30 ms in 80 ms, each 100 ms";
  EXPECT_DOUBLE_EQ(cost->power_w, 30);
  goal.power_mw = 29'999;
  EXPECT_FALSE(beside(goal, Beside::windows, kWindow, 4, train, infer));
  const auto all = beside(goal, Beside::requests, kWindow, 4, train, infer);
  ASSERT_TRUE(all);
  EXPECT_DOUBLE_EQ(all->minibatches_per_s, 0.8 / 0.03);
  // 430 ms: four times 20 of 100 ms, and 30 ms of training.
  EXPECT_DOUBLE_EQ(all->power_w, (80 * 20 + 350 * 30) / 430.0);
}

TEST(HighestWindow, IsWhatTheWorstWindowSees) {
  const auto highest = [](double window_s, double infer_w, double train_w) {
    return highest_window_w(window_s, 0.1, 0.02, infer_w, train_w);
  };
  EXPECT_DOUBLE_EQ(highest(0.05, 20, 30), 30) << "a window of training alone";
  EXPECT_DOUBLE_EQ(highest(0.08, 20, 30), 30) << "at the limit";
  EXPECT_DOUBLE_EQ(highest(0.09, 20, 30), (10 * 20 + 80 * 30) / 90.0) << "past it";
  EXPECT_DOUBLE_EQ(highest(0.01, 40, 30), 40) << "a window of inference alone";
  EXPECT_DOUBLE_EQ(highest(0.04, 40, 30), 35);
  EXPECT_NEAR(highest(0.3, 20, 30), 28, 1e-9) << "whole turns: the mean by the times of both";
  EXPECT_NEAR(highest(1000.05, 20, 30), 28, 1e-3) << "as good as that";
}

TEST(Beside, RefusesWhatIsLateOrFallsBehindAtTheLimitAndPastIt) {
  Goal goal{.latency = std::chrono::microseconds(187'500), .arrivals_per_s = 32};
  TrueCost train, infer;
  train.minibatch_ms = 30;
  infer.minibatch_ms = 62.5;  // after 125 ms
  EXPECT_TRUE(beside(goal, Beside::requests, kWindow, 4, train, infer));
  infer.minibatch_ms = 62.501;
  EXPECT_FALSE(beside(goal, Beside::requests, kWindow, 4, train, infer));
  goal.latency.reset();
  infer.minibatch_ms = 125;
  EXPECT_TRUE(beside(goal, Beside::windows, kWindow, 4, train, infer));
  infer.minibatch_ms = 125.001;
  EXPECT_FALSE(beside(goal, Beside::windows, kWindow, 4, train, infer));
}

TEST(Beside, CountsABatchThatIsHalfFullOnAverageWhereRequestsComeOneByOne) {
  Pair pair;
  const PowerMode mode = pair.space.highest();
  const auto cost = [&](Beside how, std::int32_t batch, double requests_per_s) {
    Goal goal = pair.problem.goal;
    goal.power_mw.reset();
    goal.arrivals_per_s = requests_per_s;
    return beside(pair.problem, goal, how, mode, batch, Time{});
  };
  // A batch of 32 takes 0.53 s to come at 60 a second.
  EXPECT_FALSE(cost(Beside::windows, 32, 60));
  const auto half = cost(Beside::requests, 32, 60);
  ASSERT_TRUE(half);
  const double train_ms = pair.train.cost(mode, 16)->minibatch_ms;
  const double requests = 60 * (450 - pair.infer.cost(mode, 32)->minibatch_ms - train_ms / 2) / 1e3;
  ASSERT_GT(requests, 16);
  ASSERT_LT(requests, 32);
  const double infer_ms = std::lerp(pair.infer.cost(mode, 16)->minibatch_ms,
                                    pair.infer.cost(mode, 32)->minibatch_ms, (requests - 16) / 16);
  EXPECT_NEAR(half->minibatches_per_s, 1e3 * (1 - 60 * infer_ms / 1e3 / requests) / train_ms, 1e-3);
  EXPECT_GT(half->minibatches_per_s, cost(Beside::requests, 16, 60)->minibatches_per_s);
  EXPECT_FALSE(cost(Beside::requests, 32, 30)) << "less than half of it comes";
  const auto full = cost(Beside::requests, 16, 60);
  EXPECT_DOUBLE_EQ(full->infer.minibatch_ms, pair.infer.cost(mode, 16)->minibatch_ms);
}

TEST(InterleavedOptimum, IsTheBestOfAllSettings) {
  Pair pair;
  for (const Beside how : {Beside::windows, Beside::requests}) {
    const auto found = interleaved_optimum(pair.problem, pair.problem.goal, how, Time{});
    ASSERT_TRUE(found);
    double most = 0;
    std::size_t settings = 0;
    for (const PowerMode& mode : unmeasured_order(pair.space)) {
      const TrueCost train = *pair.train.cost(mode, 16);
      for (const std::int32_t batch : {1, 4, 16, 32}) {
        ++settings;
        const TrueCost infer = *pair.infer.cost(mode, batch);
        const double fill_ms = 1000.0 * batch / 60;
        if (infer.minibatch_ms > fill_ms || fill_ms + infer.minibatch_ms > 500) continue;
        const double share = infer.minibatch_ms / fill_ms;
        const bool whole = how == Beside::windows;
        const double power_w = whole ? std::max(train.power_w, infer.power_w)
                                     : highest_window_w(430, fill_ms, infer.minibatch_ms,
                                                        infer.power_w, train.power_w);
        if (power_w > 30) continue;
        const double a_second =
            whole ? std::floor((fill_ms - infer.minibatch_ms) / train.minibatch_ms) / fill_ms
                  : (1 - share) / train.minibatch_ms;
        most = std::max(most, 1000 * a_second);
      }
    }
    EXPECT_GT(most, 1);
    EXPECT_NEAR(found->cost.minibatches_per_s, most, 1e-9);
    EXPECT_EQ(found->settings, settings);
    EXPECT_EQ(found->setting.run, Run::both);
  }
}

TEST(InterleavedOptimum, KeepsTheEnergyOfATrainingSample) {
  Pair pair;
  const auto sample_j = [](const TrueCost& cost) {
    return cost.minibatch_ms / 1e3 / 16 * cost.power_w;
  };
  for (const Beside how : {Beside::windows, Beside::requests}) {
    Goal goal = pair.problem.goal;
    goal.power_mw.reset();  // the fastest setting is not the thriftiest
    const auto free = interleaved_optimum(pair.problem, goal, how, Time{});
    ASSERT_TRUE(free);
    goal.energy_j = 0.99 * sample_j(free->cost.train);
    const auto bound = interleaved_optimum(pair.problem, goal, how, Time{});
    ASSERT_TRUE(bound);
    EXPECT_LE(sample_j(bound->cost.train), *goal.energy_j);
    EXPECT_LT(bound->cost.minibatches_per_s, free->cost.minibatches_per_s);
    EXPECT_EQ(bound->settings, free->settings);
    const std::int32_t batch = free->setting.batch_size[index(Kind::infer)];
    EXPECT_FALSE(beside(pair.problem, goal, how, free->setting.mode, batch, Time{}));
  }
}

// 30 requests a second: four take 133 ms to come, 40 ms to serve; two are half of a batch.
struct SlowServer {
  Profile trains{fakes::two_knobs()};
  Profile infers{fakes::two_knobs()};
  std::optional<ProfileCosts> train_costs, infer_costs;
  SimulationProblem problem;

  SlowServer() {
    trains.add({fakes::mode(1, 300000), 16, 20, 10, {}});
    infers.add({fakes::mode(1, 300000), 1, 35, 20, {}});
    infers.add({fakes::mode(1, 300000), 4, 40, 20, {}});
    train_costs.emplace(trains, Missing::refuse);
    infer_costs.emplace(infers, Missing::refuse);
    problem.knobs = trains.knobs();
    problem.sharing = Sharing::interleaved;
    problem.goal = {.objective = Objective::throughput,
                    .power_mw = 30'000,
                    .latency = std::chrono::milliseconds(150),
                    .arrivals_per_s = 30};
    problem.tasks = trainer_and_server(*train_costs, *infer_costs, {.rate_per_s = 30});
  }
  std::optional<BesideCost> cost(Beside how, std::int32_t batch) const {
    return beside(problem, problem.goal, how, fakes::mode(1, 300000), batch, Time{});
  }
  std::optional<InterleavedOptimum> optimum(Beside how) const {
    return interleaved_optimum(problem, problem.goal, how, Time{});
  }
};

TEST(InterleavedOptimum, HasBatchesThatAreHalfFullOnAverageWhereNoneIsFullInTime) {
  const SlowServer server;  // one by one they would take longer than they come
  ASSERT_FALSE(server.cost(Beside::windows, 1));
  ASSERT_FALSE(server.cost(Beside::windows, 4));
  EXPECT_FALSE(server.optimum(Beside::windows)) << "like clockwork full batches are all there is";
  const auto chosen = server.cost(Beside::requests, 4);
  ASSERT_TRUE(chosen);
  const auto best = server.optimum(Beside::requests);
  ASSERT_TRUE(best) << "a choice keeps the limits";
  EXPECT_EQ(best->setting.batch_size[index(Kind::infer)], 4);
  EXPECT_EQ(best->cost.minibatches_per_s, chosen->minibatches_per_s);
  EXPECT_EQ(best->settings, 2U);
}

TEST(PowerBeside, IsThatOfTheVerdictWhicheverLimitsAreBroken) {
  SlowServer server;
  const auto power_w = [&](std::int32_t batch) {
    return *power_beside(server.problem, Beside::requests, fakes::mode(1, 300000), batch, Time{});
  };
  const double kept = server.cost(Beside::requests, 4)->power_w;
  EXPECT_LT(kept, 20);
  EXPECT_DOUBLE_EQ(power_w(4), kept);
  server.problem.goal.power_mw = 5'000;
  EXPECT_DOUBLE_EQ(power_w(4), kept);
  EXPECT_DOUBLE_EQ(power_w(1), 20) << "it falls behind: it serves all the time";
  server.problem.goal.latency = std::chrono::milliseconds(50);
  EXPECT_DOUBLE_EQ(power_w(4), highest_window_w(0.43, 4 / 30.0, 0.04, 20, 10)) << "late: full";
  EXPECT_FALSE(power_beside(server.problem, Beside::requests, fakes::mode(4, 300000), 4, Time{}));
}

TEST(Beside, CountsAllMinibatchesThatFitExactly) {
  Goal goal{.arrivals_per_s = 10};
  TrueCost train, infer;
  train.minibatch_ms = 0.1;
  infer.minibatch_ms = 99.7;
  const auto cost = beside(goal, Beside::windows, kWindow, 1, train, infer);
  ASSERT_TRUE(cost);
  EXPECT_DOUBLE_EQ(cost->minibatches_per_s, 30);
}

TEST(InterleavedOptimum, IsNoneWhereNothingKeepsTheCap) {
  Pair pair;
  pair.problem.goal.power_mw = 3'000;
  EXPECT_FALSE(interleaved_optimum(pair.problem, pair.problem.goal, Beside::requests, Time{}));
}

}  // namespace
}  // namespace gearshift
