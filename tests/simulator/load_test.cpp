#include "simulator/load.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <vector>

#include "simulator/cost_source.h"
#include "simulator/emulated_workload.h"
#include "simulator/optimum.h"
#include "tests/simulator/board_fixture.h"

namespace gearshift {
namespace {

TEST(Load, ReadsWhatItWrites) {
  const std::string text =
      "pid=1234 name=resnet18 kind=train batch_size=16 batch_sizes=8,16,32 run=1";
  const auto load = parse_load(text + '\n', agx_orin());
  ASSERT_TRUE(load);
  EXPECT_EQ(format_load(*load), text);
  EXPECT_EQ(load->workload, &agx_orin().workloads.at("resnet18"));
}

TEST(Load, HasDefaultsForAllButItsName) {
  const auto load = parse_load("name=resnet18 colour=red", agx_orin());
  ASSERT_TRUE(load) << "fields of later versions do not count";
  EXPECT_EQ(format_load(*load),
            "pid=0 name=resnet18 kind=train batch_size=16 batch_sizes=16 run=1");
}

TEST(Load, FindsTheWorkloadOfItsKind) {
  const auto load = parse_load("name=resnet18 kind=infer batch_size=4", agx_orin());
  ASSERT_TRUE(load);
  EXPECT_EQ(load->workload, &agx_orin().workloads.at("resnet18-infer"));
  EXPECT_TRUE(parse_load("name=resnet18-infer kind=infer", agx_orin()));
  EXPECT_FALSE(parse_load("name=resnet18-infer kind=train", agx_orin()));
}

TEST(Load, RefusesWhatCannotBe) {
  for (const char* text :
       {"", "resnet18", "name=gpt", "name=resnet18 batch_size=0",
        "name=resnet18 batch_size=1048577", "name=resnet18 batch_size=16x",
        "name=resnet18 kind=both", "name=resnet18 run=2",
        "name=resnet18 batch_sizes=", "name=resnet18 batch_sizes=1,,2", "name=resnet18 pid=-1"}) {
    EXPECT_FALSE(parse_load(text, agx_orin())) << text;
  }
  EXPECT_TRUE(parse_load("name=resnet18 batch_size=1048576", agx_orin()));
}

TEST(Load, LastsUntilItsHandleIsClosed) {
  Loads loads(agx_orin());
  const LoadHandle first = loads.open();
  const LoadHandle second = loads.open();
  EXPECT_TRUE(loads.all().empty()) << "nothing was declared yet";
  EXPECT_EQ(loads.write(first, "name=resnet18"), 0);
  EXPECT_EQ(loads.write(second, "name=nothing"), EINVAL);
  EXPECT_EQ(loads.write(first, "name=resnet18 run=0"), 0);
  EXPECT_EQ(loads.all().size(), 1u) << "a handle's line replaces its last one";
  EXPECT_FALSE(loads.all().begin()->second.run);
  loads.close(second);
  loads.close(first);
  EXPECT_EQ(loads.text(), "");
}

TEST(Load, AreBounded) {
  Loads loads(agx_orin());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(loads.write(loads.open(), "name=lstm"), 0);
  EXPECT_EQ(loads.write(loads.open(), "name=lstm"), ENOSPC);
}

using LoadOfABoard = VirtualBoard;

TEST_F(LoadOfABoard, ThatWaitsDrawsNothing) {
  const double idle = board_->true_power_mw();
  const LoadHandle load = start_load("name=resnet18 run=1");
  EXPECT_GT(board_->true_power_mw(), idle + 5000);
  EXPECT_EQ(board_->write_load(load, "name=resnet18 run=0"), 0);
  EXPECT_DOUBLE_EQ(board_->true_power_mw(), idle);
  EXPECT_EQ(board_->write_load(load, "garbage"), EINVAL);
  EXPECT_EQ(read("/.virtual/load"),
            "pid=0 name=resnet18 kind=train batch_size=16 batch_sizes=16 run=0")
      << "a line that cannot be used changes nothing";
}

// The frontier must hold what asking every mode finds.
TEST(Optimum, IsTheBestOfAllModesThatFit) {
  const BoardDescription& board = agx_orin();
  const WorkloadParameters& workload = board.workloads.at("resnet18");
  const std::int32_t sizes[] = {8, 16, 32};
  ModelledOptimum table(board, workload, sizes);
  while (!table.advance()) continue;
  const KnobSpace space = board.knob_space();
  const std::vector<PowerMode> modes = modes_by_power(board, space);
  for (const Objective objective : {Objective::time, Objective::energy}) {
    for (const double cap_w : {15.0, 30.0}) {
      double best = INFINITY;
      for (const PowerMode& mode : modes) {
        for (const std::int32_t size : sizes) {
          const MinibatchCost cost =
              minibatch_cost(*board.model, workload.demand(size), model_mode(space, mode, {}));
          if (cost.power_w > cap_w) continue;
          const Optimum candidate{mode, size, cost.power_w, cost.minibatch_ms};
          best = std::min(best, candidate.value(objective));
        }
      }
      const auto found = table.best(objective, cap_w);
      ASSERT_TRUE(found);
      EXPECT_DOUBLE_EQ(found->value(objective), best);
      EXPECT_LE(found->power_w, cap_w);
      EXPECT_TRUE(space.contains(found->mode));
    }
  }
}

// A board whose training takes other times than its inference.
BoardDescription slow_trainer() {
  BoardDescription board = agx_orin();
  board.train_model = *board.model;
  board.train_model->q = 1.5 * board.model->q;
  return board;
}

TEST(Optimum, IsByWhatTheKindTakes) {
  const BoardDescription board = slow_trainer();
  const std::int32_t sizes[] = {16};
  for (const auto& [name, kind] :
       {std::pair("resnet18", Kind::train), std::pair("resnet18-infer", Kind::infer)}) {
    const WorkloadParameters& workload = board.workloads.at(name);
    ModelledOptimum table(board, workload, sizes);
    while (!table.advance()) continue;
    const auto best = table.best(Objective::time, 60);
    ASSERT_TRUE(best);
    const KnobSpace space = board.knob_space();
    const ModelCosts costs(board, space, workload);
    EXPECT_DOUBLE_EQ(best->minibatch_ms, costs.cost(best->mode, 16)->minibatch_ms) << name;
  }
}

TEST(Activity, OfABoardIsByWhatTheKindTakes) {
  const BoardDescription board = slow_trainer();
  BoardState state(board, {.noise = 0});
  state.advance(Time(std::chrono::hours(1)));
  ASSERT_EQ(state.write_load(state.open_load(), "pid=7 name=resnet18 batch_size=16"), 0);
  BoardState usual(agx_orin(), {.noise = 0});
  usual.advance(Time(std::chrono::hours(1)));
  ASSERT_EQ(usual.write_load(usual.open_load(), "pid=7 name=resnet18 batch_size=16"), 0);
  EXPECT_NE(state.true_power_mw(), usual.true_power_mw());
  const char* const loads = "pid=2 name=resnet18 kind=train batch_size=16 run=1\n";
  const ModelMode fast{.cpu_cores = 12, .cpu_ghz = 2.2, .gpu_ghz = 1.3, .mem_ghz = 3.2};
  EXPECT_DOUBLE_EQ(
      other_loads_ms(loads, 1, board, fast),
      minibatch_cost(board.parameters(Kind::train), board.workloads.at("resnet18").demand(16), fast)
          .minibatch_ms);
}

TEST(Optimum, HoldsAtItsOwnPowerAndNotBelow) {
  const std::int32_t sizes[] = {16};
  ModelledOptimum table(agx_orin(), agx_orin().workloads.at("resnet18"), sizes);
  while (!table.advance()) continue;
  const auto at_30 = table.best(Objective::time, 30);
  ASSERT_TRUE(at_30);
  EXPECT_EQ(table.best(Objective::time, at_30->power_w)->mode, at_30->mode);
  EXPECT_GT(table.best(Objective::time, at_30->power_w - 1e-9)->minibatch_ms, at_30->minibatch_ms);
  EXPECT_FALSE(table.best(Objective::time, 5));
}

TEST_F(LoadOfABoard, HasAnOptimumForEachCap) {
  EXPECT_EQ(read("/.virtual/optimum").find('\n'), std::string::npos) << "no load: the header alone";
  start_load("name=resnet18 batch_size=16 batch_sizes=16,32");
  const std::string text = read("/.virtual/optimum");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 * 51);
  EXPECT_NE(text.find("\nresnet18 train 30 time "), std::string::npos);
  EXPECT_NE(text.find("\nresnet18 train 60 energy "), std::string::npos);
}

}  // namespace
}  // namespace gearshift
