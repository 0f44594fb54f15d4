// The boards that have a model: what their files say of clocks, rails, names and parameters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "boards/board_description.h"

namespace gearshift {
namespace {

const BoardDescription& board(std::string_view called) {
  const BoardDescription* found = find_board(called, built_in_boards());
  if (found == nullptr) throw std::runtime_error("no board " + std::string(called));
  return *found;
}

struct Table {
  const char* id;
  std::vector<std::size_t> counts;  // of cpu_cores, cpu_mhz, gpu_mhz, mem_mhz
  double highest_cpu_mhz;
  double highest_gpu_mhz;
  std::vector<std::string> total;  // the rails whose sum is the power of the module
};

const Table kTables[] = {
    {"jetson-orin-nano", {6, 20, 5, 3}, 1510.4, 624.75, {"VDD_IN"}},
    {"jetson-orin-nano-super", {6, 22, 8, 4}, 1728, 1020, {"VDD_IN"}},
    {"jetson-orin-nx", {8, 26, 7, 4}, 1984, 918, {"VDD_IN"}},
    {"jetson-agx-xavier",
     {8, 29, 14, 9},
     2265.6,
     1377,
     {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}},
    {"jetson-agx-xavier-8gb",
     {6, 29, 14, 9},
     2265.6,
     1377,
     {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"}},
    {"jetson-xavier-nx", {6, 25, 15, 7}, 1907.2, 1109.25, {"VDD_IN"}},
    {"jetson-nano", {4, 15, 12, 7}, 1479, 921.6, {"POM_5V_IN"}},
};

TEST(ModelBoards, HaveThePublishedTablesAndOneTotal) {
  for (const Table& table : kTables) {
    SCOPED_TRACE(table.id);
    const BoardDescription& one = board(table.id);
    const KnobSpace space = one.knob_space();
    ASSERT_EQ(space.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(space.knobs[i].values.size(), table.counts[i]) << space.knobs[i].name;
    }
    const ModelMode highest = model_mode(space, space.highest(), {});
    EXPECT_DOUBLE_EQ(highest.cpu_ghz * 1000, table.highest_cpu_mhz);
    EXPECT_DOUBLE_EQ(highest.gpu_ghz * 1000, table.highest_gpu_mhz);
    std::vector<std::string> total;
    for (const RailDescription& rail : one.power.rails) {
      if (rail.sign == 1) total.push_back(rail.label);
    }
    EXPECT_EQ(total, table.total);
  }
}

TEST(ModelBoards, OrderTheirModesAndHaveASafeOneThatIsNotTheLowest) {
  for (const Table& table : kTables) {
    SCOPED_TRACE(table.id);
    const BoardDescription& one = board(table.id);
    const KnobSpace space = one.knob_space();
    const std::vector<PowerMode> modes = modes_by_power(one, space);
    EXPECT_EQ(modes.size(), space.mode_count());
    EXPECT_EQ(modes.back(), space.highest());
    const PowerMode safe = safe_mode(one, space, modes);
    EXPECT_NE(safe, space.lowest());
    EXPECT_NE(safe, modes.back());
  }
}

TEST(ModelBoards, PredictFiniteCostsInEveryMode) {
  for (const BoardDescription& one : built_in_boards()) {
    if (!one.model) continue;
    const KnobSpace space = one.knob_space();
    const std::vector<PowerMode> modes = modes_by_power(one, space);
    for (const auto& [name, workload] : one.workloads) {
      const Demand demand = workload.demand(16);
      for (std::size_t i = 0; i < modes.size(); i += 97) {
        const MinibatchCost cost =
            minibatch_cost(one.parameters(workload.kind), demand, model_mode(space, modes[i], {}));
        ASSERT_TRUE(std::isfinite(cost.minibatch_ms) && cost.minibatch_ms > 0) << one.id << name;
        ASSERT_TRUE(cost.power_w > 1 &&
                    1000 * cost.power_w < static_cast<double>(one.power.plausible_max_mw))
            << one.id << ' ' << name << ' ' << space.describe(modes[i]) << ' ' << cost.power_w;
      }
    }
  }
}

// Idle power at the highest clocks, as far as it is known: AGX Xavier's is published, that of Orin
// Nano was fitted, the other three are guesses.
TEST(ModelBoards, KnowTheirIdlePower) {
  const std::map<std::string, double> idle_w = {{"jetson-agx-xavier", 7.5},
                                                {"jetson-orin-nano", 8.2},
                                                {"jetson-xavier-nx", 5.0},
                                                {"jetson-nano", 3.3},
                                                {"jetson-orin-nx", 7.1}};
  for (const auto& [id, power_w] : idle_w) {
    const BoardDescription& one = board(id);
    const KnobSpace space = one.knob_space();
    EXPECT_NEAR(idle_power_w(*one.model, model_mode(space, space.highest(), {})), power_w, 0.15)
        << id;
  }
}

TEST(ModelBoards, TrainingMayHaveTimeParametersOfItsOwn) {
  const BoardDescription& nano = board("jetson-nano");
  ASSERT_TRUE(nano.train_model.has_value());
  EXPECT_EQ(nano.parameters(Kind::infer).q, 1.6);
  EXPECT_EQ(nano.parameters(Kind::train).q, 1.50114);
  EXPECT_EQ(nano.parameters(Kind::train).p0, nano.parameters(Kind::infer).p0);
  const BoardDescription& xavier = board("jetson-agx-xavier");
  EXPECT_EQ(&xavier.parameters(Kind::train), &xavier.parameters(Kind::infer));
}

TEST(ModelBoards, AreFoundByTheNamesThatTablesOfMeasurementsUse) {
  EXPECT_EQ(board("orin_agx").id, "jetson-agx-orin");
  EXPECT_EQ(board("jetson-orin-nano-8gb").id, "jetson-orin-nano");
  EXPECT_EQ(board("nano").id, "jetson-nano");
  EXPECT_EQ(find_board("jetson-tx9", built_in_boards()), nullptr);
  const BoardDescription& orin = board("orin_agx");
  EXPECT_EQ(orin.find_workload("resnet", Kind::train)->first, "resnet18");
  EXPECT_EQ(orin.find_workload("resnet", Kind::infer)->first, "resnet18-infer");
  EXPECT_EQ(orin.find_workload("mobilenet_v3", Kind::infer)->first, "mobilenet_v3-infer")
      << "as a server calls itself";
  EXPECT_EQ(orin.find_workload("mobilenet_v3", Kind::train)->first, "mobilenet_v3");
  EXPECT_EQ(orin.find_workload("mobilenet_v3-infer", Kind::train), orin.workloads.end());
  EXPECT_EQ(orin.find_workload("lstm", Kind::train)->first, "lstm");
  EXPECT_EQ(orin.find_workload("lstm", Kind::infer), orin.workloads.end());
  std::set<std::string> names;
  for (const BoardDescription& one : built_in_boards()) {
    EXPECT_TRUE(names.insert(one.id).second);
    for (const std::string& alias : one.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(ModelBoards, AreOneByAnAliasAndWithOtherSoftware) {
  EXPECT_TRUE(is_same_board("jetson-orin-nano", "jetson-orin-nano-8gb"));
  EXPECT_TRUE(is_same_board("orin_agx", "jetson-agx-orin-jetpack5"));
  EXPECT_TRUE(is_same_board("mine", "mine"));
  EXPECT_FALSE(is_same_board("mine", "other"));
  EXPECT_FALSE(is_same_board("mine", "jetson-agx-orin"));
  EXPECT_FALSE(is_same_board("jetson-orin-nano", "jetson-nano"));
  EXPECT_FALSE(is_same_board("host", "nvidia-gpu")) << "no device tree tells these";
}

TEST(ModelBoards, XavierKnowsTheModesThatWerePublishedByLetters) {
  const auto& modes = board("jetson-agx-xavier").published_modes;
  ASSERT_EQ(modes.size(), 14u);
  EXPECT_EQ(modes.at("f").cpu_cores, 2);
  EXPECT_DOUBLE_EQ(modes.at("g").gpu_ghz, 1.377);
}

}  // namespace
}  // namespace gearshift
