#include "boards/modelled_profile.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "tests/fakes/built_in_board.h"

namespace gearshift {
namespace {

constexpr std::array<std::int32_t, 2> kSizes = {8, 32};

TEST(ModelledProfile, HasWhatTheModelSaysOfEverySetting) {
  const BoardDescription& board = built_in_board("jetson-agx-xavier");
  const WorkloadParameters& workload = board.find_workload("resnet", Kind::train)->second;
  const KnobSpace knobs = board.knob_space();
  const Profile profile = modelled_profile(board, knobs, "resnet", workload, kSizes);
  EXPECT_EQ(profile.device, "jetson-agx-xavier");
  EXPECT_EQ(profile.workload, "resnet");
  EXPECT_EQ(profile.cells().size(), 2 * knobs.mode_count());
  EXPECT_EQ(profile.batch_sizes(), (std::vector<std::int32_t>{8, 32}));
  const ProfileCell* highest = profile.find(knobs.highest(), 32);
  ASSERT_NE(highest, nullptr);
  const MinibatchCost cost = minibatch_cost(board.parameters(Kind::train), workload.demand(32),
                                            model_mode(knobs, knobs.highest(), {}));
  EXPECT_DOUBLE_EQ(highest->minibatch_ms, cost.minibatch_ms);
  EXPECT_DOUBLE_EQ(highest->power_w, cost.power_w);
}

TEST(ModelledProfile, TakesAPartOfTheKnobsWithTheOthersAtTheirHighest) {
  const BoardDescription& board = built_in_board("jetson-agx-orin");
  const WorkloadParameters& workload = board.find_workload("resnet", Kind::train)->second;
  KnobSpace clocks;
  clocks.knobs = {board.knob_space().knobs[*board.knob_space().find("gpu_mhz")]};
  const Profile part = modelled_profile(board, clocks, "resnet", workload, std::array{16});
  const Profile whole =
      modelled_profile(board, board.knob_space(), "resnet", workload, std::array{16});
  EXPECT_DOUBLE_EQ(part.find(clocks.highest(), 16)->power_w,
                   whole.find(board.knob_space().highest(), 16)->power_w);
}

TEST(ModelledProfile, NeedsAModel) {
  const BoardDescription& host = built_in_board("host");
  EXPECT_THROW(modelled_profile(host, host.knob_space(), "any", {}, kSizes), std::invalid_argument);
}

}  // namespace
}  // namespace gearshift
