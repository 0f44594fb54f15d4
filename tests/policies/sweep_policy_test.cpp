#include "policies/sweep_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gearshift {
namespace {

KnobSpace space() {
  return {.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {2, 4}},
                    {"cpu_mhz", Unit::khz, KnobClass::clock, {100, 200, 300}},
                    {"gpu_mhz", Unit::khz, KnobClass::clock, {10, 20}},
                    {"mem_mhz", Unit::khz, KnobClass::memory, {1, 2}}}};
}

PolicyContext context_of(const Workload& workload) {
  PolicyContext context;
  context.workloads[index(workload.kind)] = &workload;
  return context;
}

Workload trainer() {
  Workload workload;
  workload.managed = true;
  workload.batch_size = 16;
  workload.batch_sizes = {16, 32};
  workload.batch_size_count = 2;
  workload.name = BoundedText<64>("resnet18");
  return workload;
}

TEST(SweepModes, GoDownWithTheClocksAndToAndFroWithTheRest) {
  const auto modes = sweep_modes(space(), SweepOrder::descend);
  ASSERT_EQ(modes.size(), 24U);
  const auto values = [&](std::size_t i) {
    return std::vector<std::int64_t>(modes[i].values.begin(), modes[i].values.begin() + 4);
  };
  EXPECT_EQ(values(0), (std::vector<std::int64_t>{2, 300, 20, 1}));
  EXPECT_EQ(values(1), (std::vector<std::int64_t>{2, 300, 20, 2}));
  EXPECT_EQ(values(2), (std::vector<std::int64_t>{4, 300, 20, 2}));
  EXPECT_EQ(values(3), (std::vector<std::int64_t>{4, 300, 20, 1}));
  EXPECT_EQ(values(4), (std::vector<std::int64_t>{4, 200, 20, 1}));
  // The clock of two values is outermost: the other one goes up again once, and it never does.
  int raises = 0;
  for (std::size_t i = 1; i < modes.size(); ++i) {
    EXPECT_LE(modes[i].values[2], modes[i - 1].values[2]);
    raises += modes[i].values[1] > modes[i - 1].values[1] ? 1 : 0;
    const bool other_knobs = modes[i].values[0] != modes[i - 1].values[0];
    const bool memory = modes[i].values[3] != modes[i - 1].values[3];
    EXPECT_FALSE(other_knobs && memory) << i;
  }
  EXPECT_EQ(raises, 1);
  const auto up = sweep_modes(space(), SweepOrder::ascend);
  EXPECT_EQ(up.front().values[1], 100);
  EXPECT_EQ(up.back().values[2], 20);
}

TEST(SweepPolicy, AsksForEverySettingOnceAndIsDone) {
  SweepPolicy policy("orin", sweep_modes(space(), SweepOrder::descend), {16, 32}, {});
  EXPECT_FALSE(policy.done());
  const Workload workload = trainer();
  Request request = policy.start(context_of(workload));
  std::vector<Setting> asked;
  while (request.what == Request::What::measure) {
    EXPECT_EQ(std::find(asked.begin(), asked.end(), request.setting), asked.end());
    asked.push_back(request.setting);
    // A workload that leaves and comes back is asked for the same setting again.
    EXPECT_EQ(policy.start(context_of(workload)).setting, request.setting);
    request = policy.resume({});
  }
  EXPECT_EQ(asked.size(), 48U);
  EXPECT_EQ(asked[0].run, Run::train);
  EXPECT_EQ(asked[47].batch_size[0], 32);
  EXPECT_TRUE(policy.done());
  EXPECT_EQ(request.what, Request::What::hold_safe);
  EXPECT_EQ(policy.start(context_of(workload)).what, Request::What::hold_safe);
}

TEST(SweepPolicy, LeavesOutWhatIsKnownOfThisWorkload) {
  Profile known(space());
  known.device = "orin";
  known.workload = "resnet18";
  const auto modes = sweep_modes(space(), SweepOrder::descend);
  known.add({modes[0], 16, 10.0, 20.0, {}});
  known.add({modes[5], 16, 10.0, 20.0, {}});
  known.add({modes[6], 32, 10.0, 20.0, {}});
  Profile other = known;
  other.workload = "lstm";
  SweepPolicy policy("orin", modes, {}, {other, known});
  const Workload workload = trainer();
  EXPECT_EQ(policy.start(context_of(workload)).setting.mode, modes[1]);
  EXPECT_EQ(policy.skipped(), 2U);
  EXPECT_EQ(policy.total(), 22U);
  EXPECT_EQ(policy.workload(), "resnet18");
}

TEST(SweepPolicy, LeavesOutBatchSizesThatTheWorkloadDoesNotOffer) {
  SweepPolicy policy("orin", sweep_modes(space(), SweepOrder::descend), {8, 32, 64}, {});
  const Workload workload = trainer();
  EXPECT_EQ(policy.start(context_of(workload)).setting.batch_size[0], 32);
  EXPECT_EQ(policy.total(), 24U);
  EXPECT_EQ(policy.not_offered(), (std::vector<std::int32_t>{8, 64}));
  EXPECT_EQ(policy.offered(), (std::vector<std::int32_t>{16, 32}));
}

TEST(SweepPolicy, WaitsForAWorkload) {
  SweepPolicy policy("orin", sweep_modes(space(), SweepOrder::ascend), {}, {});
  EXPECT_EQ(policy.start({}).what, Request::What::hold_safe);
  EXPECT_FALSE(policy.done());
}

// Its rows would be written under the first one's name.
TEST(SweepPolicy, MeasuresNoOtherWorkloadThanTheOneItBeganWith) {
  SweepPolicy policy("orin", sweep_modes(space(), SweepOrder::descend), {}, {});
  const Workload own = trainer();
  Workload other = trainer();
  other.name = BoundedText<64>("mobilenet_v3");
  policy.start(context_of(own));
  const Request next = policy.resume({});
  EXPECT_EQ(policy.take_log(), "");

  EXPECT_EQ(policy.start(context_of(other)).what, Request::What::hold_safe);
  EXPECT_EQ(policy.take_log(), "waits for resnet18; mobilenet_v3 is another workload");
  EXPECT_EQ(policy.start(context_of(other)).what, Request::What::hold_safe);
  EXPECT_EQ(policy.take_log(), "") << "it is told once";
  EXPECT_FALSE(policy.done());
  EXPECT_EQ(policy.workload(), "resnet18");

  const Request again = policy.start(context_of(own));
  EXPECT_EQ(again.what, Request::What::measure);
  EXPECT_EQ(again.setting, next.setting);
  EXPECT_EQ(policy.asked(), 1U);
}

TEST(SweepPolicy, MeasuresNoOtherKindThanTheOneItBeganWith) {
  SweepPolicy policy("orin", sweep_modes(space(), SweepOrder::descend), {}, {});
  const Workload own = trainer();
  Workload server = trainer();
  server.kind = Kind::infer;
  PolicyContext both = context_of(own);
  both.workloads[index(Kind::infer)] = &server;
  EXPECT_EQ(policy.start(both).setting.run, Run::train);
  EXPECT_EQ(policy.start(context_of(server)).what, Request::What::hold_safe);
  EXPECT_EQ(policy.take_log(), "waits for resnet18 (train); resnet18 (infer) is another workload");
  EXPECT_EQ(policy.start(both).what, Request::What::measure);
}

}  // namespace
}  // namespace gearshift
