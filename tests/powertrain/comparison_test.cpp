#include "policies/powertrain/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "policies/powertrain/optimization.h"

namespace gearshift {
namespace {

TEST(Comparison, QuartilesLieBetweenNeighbours) {
  const Quartiles five = quartiles({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(five.first, 2);
  EXPECT_DOUBLE_EQ(five.median, 3);
  EXPECT_DOUBLE_EQ(five.third, 4);
  const Quartiles two = quartiles({1, 2});
  EXPECT_DOUBLE_EQ(two.first, 1.25);
  EXPECT_DOUBLE_EQ(two.median, 1.5);
  EXPECT_DOUBLE_EQ(quartiles({7}).third, 7);
}

TEST(Comparison, PublishedFiguresBelongToOneMethodAndCount) {
  EXPECT_EQ(published_error("jetson-agx-orin", "mobnet", 16, Method::transferred, 50).time_percent,
            15.7);
  EXPECT_FALSE(
      published_error("jetson-agx-orin", "mobnet", 16, Method::transferred, 60).time_percent);
  EXPECT_FALSE(published_error("jetson-agx-orin", "made-up", 16, Method::afresh, 50).power_percent);
  EXPECT_EQ(published_error("jetson-agx-orin", "resnet", 16, Method::reference, 4368).power_percent,
            4.8);
  EXPECT_EQ(published_error("jetson-agx-orin-jetpack5", "resnet18", 8, Method::transferred, 50)
                .time_percent,
            10.84);
  EXPECT_FALSE(
      published_error("jetson-agx-orin", "resnet", 64, Method::transferred, 50).time_percent);
}

TEST(DrawCells, AreDistinctAndAFunctionOfTheSeed) {
  std::vector<std::size_t> cells(200);
  std::iota(cells.begin(), cells.end(), std::size_t{1000});
  std::vector<std::size_t> drawn = draw_cells(cells, 50, 7);
  EXPECT_EQ(drawn, draw_cells(cells, 50, 7));
  EXPECT_NE(drawn, draw_cells(cells, 50, 8));
  ASSERT_EQ(drawn.size(), 50U);
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
  EXPECT_GE(drawn.front(), 1000U);
  EXPECT_LT(drawn.back(), 1200U);
  EXPECT_EQ(draw_cells(cells, 500, 7).size(), 200U);
}

// So many cells of one knob, of which all have the time of a minibatch but those from `timed` on.
Profile one_knob(const std::string& name, std::size_t count, std::size_t timed) {
  KnobSpace space;
  space.knobs = {{name, Unit::khz, KnobClass::clock, {}}};
  for (std::size_t i = 0; i < count; ++i) {
    space.knobs[0].values.push_back(static_cast<std::int64_t>(100'000 * (i + 1)));
  }
  Profile profile(space);
  profile.device = "bench";
  profile.workload = name;
  for (std::size_t i = 0; i < count; ++i) {
    profile.add({.mode = {{space.knobs[0].values[i]}, 1},
                 .batch_size = 16,
                 .minibatch_ms = i < timed ? 10 : kNotTimed,
                 .power_w = static_cast<double>(i + 1),
                 .epoch_s = 10});
  }
  return profile;
}

TEST(CheckDraws, FindsTheTargetThatCannotBeTrainedBeforeAnyIs) {
  const Profile gpu = one_knob("gpu_mhz", 20, 20);
  const Predictor reference = untrained_predictor(gpu, timed_cells(gpu));
  const auto refusal = [&](const Profile& second, std::size_t modes) -> std::string {
    const std::vector<Profile> targets = {gpu, second};
    const std::vector<std::size_t> counts = {5, modes};
    try {
      check_draws(reference, targets, counts, 3, 1);
    } catch (const TrainingError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(one_knob("gpu_mhz", 10, 10), 50), "") << "all that there are";
  EXPECT_NE(refusal(one_knob("cpu_mhz", 10, 10), 5).find("needs gpu_mhz, which is no knob here"),
            std::string::npos);
  EXPECT_NE(refusal(one_knob("gpu_mhz", 10, 2), 5).find("2 settings with the time of a minibatch"),
            std::string::npos);
  EXPECT_NE(refusal(one_knob("gpu_mhz", 10, 10), 2).find("at least 3 are needed"),
            std::string::npos);
}

TEST(HighestCell, IsThereWhereItWasMeasured) {
  const Profile whole = one_knob("gpu_mhz", 4, 4);
  ASSERT_NE(highest_cell(whole), nullptr);
  EXPECT_EQ(highest_cell(whole)->power_w, 4);
  EXPECT_EQ(highest_cell(one_knob("gpu_mhz", 4, 3)), nullptr) << "its time is of an epoch";
}

}  // namespace
}  // namespace gearshift
