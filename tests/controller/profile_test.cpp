#include "controller/profile.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

KnobSpace small_knobs() {
  KnobSpace space;
  space.knobs = {{"cpu_cores", Unit::count, KnobClass::hotplug, {1, 2}},
                 {"gpu_mhz", Unit::khz, KnobClass::clock, {300'000, 600'000}}};
  return space;
}

ProfileCell cell(std::int64_t cores, std::int64_t gpu_khz, std::int32_t batch_size) {
  return {.mode = {.values = {cores, gpu_khz}, .count = 2},
          .batch_size = batch_size,
          .minibatch_ms = 10,
          .power_w = 20,
          .epoch_s = {}};
}

TEST(Profile, FindsACellByModeAndBatchSize) {
  Profile profile(small_knobs());
  ASSERT_TRUE(profile.add(cell(1, 300'000, 16)));
  ASSERT_TRUE(profile.add(cell(1, 300'000, 8)));
  ASSERT_TRUE(profile.add(cell(2, 300'000, 16)));
  EXPECT_EQ(profile.find(cell(2, 300'000, 0).mode, 16), &profile.cells()[2]);
  EXPECT_EQ(profile.find(cell(2, 300'000, 0).mode, 8), nullptr);
  EXPECT_EQ(profile.batch_sizes(), (std::vector<std::int32_t>{8, 16}));
}

TEST(Profile, KeepsTheFirstOfTwoCellsOfASetting) {
  Profile profile(small_knobs());
  ASSERT_TRUE(profile.add(cell(1, 300'000, 16)));
  EXPECT_FALSE(profile.add(cell(1, 300'000, 16)));
  EXPECT_EQ(profile.cells().size(), 1u);
}

TEST(Profile, TakesNoModeOutsideItsKnobs) {
  Profile profile(small_knobs());
  EXPECT_FALSE(profile.add(cell(3, 300'000, 16)));
  EXPECT_FALSE(profile.add(cell(1, 450'000, 16)));
  EXPECT_TRUE(profile.cells().empty());
}

}  // namespace
}  // namespace gearshift
