#include "cli/predicted_grid.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "tests/fakes/says.h"

namespace gearshift {
namespace {

using fakes::says;

Profile profile_of(std::initializer_list<std::int32_t> batch_sizes) {
  Profile profile({{{.name = "gpu_mhz", .unit = Unit::khz, .values = {300'000, 600'000}}}});
  profile.device = "jetson-agx-orin";
  profile.workload = "lstm";
  for (const std::int32_t size : batch_sizes) {
    ProfileCell cell;
    cell.mode = profile.knobs().lowest();
    cell.batch_size = size;
    cell.minibatch_ms = 10;
    cell.power_w = 20;
    profile.add(cell);
  }
  return profile;
}

Predictor predictor_of(const std::vector<std::int32_t>& batch_sizes) {
  Predictor predictor;
  predictor.device = "jetson-agx-orin";
  predictor.workload = "mobnet";
  predictor.batch_sizes = batch_sizes;
  predictor.inputs = {{"gpu_mhz", 450, 150}};
  if (batch_sizes.size() > 1) predictor.inputs.push_back({std::string(kBatchSizeInput), 16, 8});
  return predictor;
}

std::string refusal(const Profile& profile, const Predictor& predictor) {
  try {
    grid_of_profile(profile, predictor);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(PredictedGrid, OfAProfileMayBeOfAnotherWorkload) {
  const PredictedGrid grid = grid_of_profile(profile_of({16}), predictor_of({16}));
  EXPECT_EQ(grid.device, "jetson-agx-orin");
  ASSERT_EQ(grid.settings.size(), 1U);
  EXPECT_EQ(grid.settings[0].batch_size, 16);
}

TEST(PredictedGrid, ABatchSizeThatTheModelDoesNotKnowIsRefused) {
  const std::string one = refusal(profile_of({8, 16}), predictor_of({16}));
  EXPECT_TRUE(says(one, "batch size 8, and the model of jetson-agx-orin mobnet knows 16 alone"))
      << one;
  const Predictor several = predictor_of({8, 32});
  EXPECT_EQ(refusal(profile_of({8, 16, 32}), several), "");
  EXPECT_TRUE(says(refusal(profile_of({64}), several), "batch size 64")) << "beyond the largest";
  EXPECT_TRUE(says(refusal(profile_of({4}), several), "knows 8 to 32"));
}

// Its reference learnt from several: that is what the transfer took over, and no more.
TEST(PredictedGrid, ATransferredModelKnowsTheBatchSizesOfItsReference) {
  Predictor moved = predictor_of({8, 32});
  moved.batch_sizes = {16};
  moved.reference = "jetson-agx-orin resnet18";
  moved.reference_batch_sizes = {8, 16, 32};
  EXPECT_EQ(refusal(profile_of({8, 24, 32}), moved), "");
  const std::string beyond = refusal(profile_of({64}), moved);
  EXPECT_TRUE(says(beyond, "batch size 64")) << beyond;
  EXPECT_TRUE(says(beyond, "knows 16, and 8 to 32 from its reference")) << beyond;
  EXPECT_TRUE(says(refusal(profile_of({4}), moved), "batch size 4"));
  moved.batch_sizes = {64};
  EXPECT_EQ(refusal(profile_of({64}), moved), "") << "its own";
  moved.inputs.pop_back();
  EXPECT_TRUE(says(refusal(profile_of({32}), moved), "knows 64 alone"));
}

TEST(PredictedGrid, AModelWhoseFileTellsNothingOfItsReferenceKnowsItsOwnBatchSizes) {
  Predictor moved = predictor_of({8, 32});
  moved.reference = "jetson-agx-orin resnet18";
  EXPECT_EQ(refusal(profile_of({16}), moved), "");
  EXPECT_TRUE(says(refusal(profile_of({64}), moved), "transferred anew"));
  moved.batch_sizes = {16};
  EXPECT_EQ(refusal(profile_of({16}), moved), "");
  const std::string other = refusal(profile_of({32}), moved);
  EXPECT_TRUE(says(other, "knows 16, and its file does not tell what its reference knew")) << other;
}

TEST(PredictedGrid, InferenceIsNotHeldAgainstTraining) {
  Profile profile = profile_of({16});
  EXPECT_NO_THROW(require_same_kind(profile, predictor_of({16})));
  profile.kind = Kind::infer;
  try {
    require_same_kind(profile, predictor_of({16}));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(says(error.what(), "lstm: a profile of inference, and the model of"))
        << error.what();
  }
}

}  // namespace
}  // namespace gearshift
