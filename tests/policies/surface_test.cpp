#include "policies/numerics/surface.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/policies/policy_problem.h"

namespace gearshift {
namespace {

// The 24 settings of PolicyProblem: 2 core counts, 3 GPU clocks, 4 batch sizes.
struct Problem : PolicyProblem {
  SettingGrid grid{context(), {12, 2, 1.3, 3}};
};

TEST(SettingGrid, NumbersEverySettingOnce) {
  const Problem problem;
  ASSERT_EQ(problem.grid.size(), 24U);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < problem.grid.size(); ++i) {
    const Setting setting = problem.grid.setting(i);
    EXPECT_TRUE(problem.knobs.contains(setting.mode));
    EXPECT_EQ(setting.run, Run::train);
    EXPECT_EQ(problem.grid.find(setting), i);
    seen.insert(problem.knobs.describe(setting.mode) + std::to_string(setting.batch_size[0]));
  }
  EXPECT_EQ(seen.size(), 24U);
}

TEST(SettingGrid, TakesClocksOfAbsentKnobsFromTheBoard) {
  const Problem problem;
  const ModelMode mode = problem.grid.mode(0);
  EXPECT_EQ(mode.cpu_cores, 4);
  EXPECT_DOUBLE_EQ(mode.gpu_ghz, 0.306);
  EXPECT_EQ(mode.cpu_ghz, 2);
  EXPECT_EQ(mode.mem_ghz, 3);
  EXPECT_EQ(problem.grid.batch_size(0), 8);
  EXPECT_EQ(problem.grid.batch_size(23), 64);
  const ModelMode same = problem.grid.mode(problem.grid.setting(0));
  EXPECT_EQ(same.gpu_ghz, mode.gpu_ghz);
}

TEST(SettingGrid, DoesNotFindWhatItDoesNotHave) {
  const Problem problem;
  Setting setting = problem.grid.setting(3);
  setting.batch_size[0] = 17;
  EXPECT_FALSE(problem.grid.find(setting).has_value());
  setting = problem.grid.setting(3);
  setting.run = Run::infer;
  EXPECT_FALSE(problem.grid.find(setting).has_value());
}

TEST(SettingGrid, ThinsOutTheLongestDimensionAndKeepsItsEnds) {
  PolicyProblem problem;
  problem.knobs.knobs[1].values.clear();
  for (std::int64_t khz = 100'000; khz <= 1'000'000; khz += 10'000) {
    problem.knobs.knobs[1].values.push_back(khz);
  }
  const SettingGrid all(problem.context(), {1, 1, 1, 1});
  EXPECT_EQ(all.size(), 2U * 91 * 4);
  const SettingGrid some(problem.context(), {1, 1, 1, 1}, 200);
  EXPECT_LE(some.size(), 200U);
  EXPECT_EQ(some.values(0).size(), 2U);
  EXPECT_EQ(some.batch_sizes().size(), 4U);
  EXPECT_EQ(some.values(1).front(), 100'000);
  EXPECT_EQ(some.values(1).back(), 1'000'000);
}

// Power 10 to 33 W and time falling with the number; the time deviation of one stands out.
Surface descending(const SettingGrid& grid) {
  Surface surface(grid.size());
  for (std::size_t i = 0; i < grid.size(); ++i) {
    surface.log_power[i] = static_cast<float>(std::log(10.0 + static_cast<double>(i)));
    // The time of a sample falls: that of a batch grows with it.
    surface.log_time[i] =
        static_cast<float>(std::log((100.0 - static_cast<double>(i)) * grid.batch_size(i)));
    surface.time_deviation[i] = i == 7 ? 0.3F : 0.1F;
    surface.power_deviation[i] = 0.05F;
  }
  return surface;
}

TEST(Surface, ChoosesTheLeastValueWithinThePower) {
  const Problem problem;
  Surface surface = descending(problem.grid);
  EXPECT_EQ(best_setting(surface, problem.grid, problem.goal, {20.5}), 10U);
  EXPECT_EQ(best_setting(surface, problem.grid, problem.goal, {}), 23U);
  EXPECT_FALSE(best_setting(surface, problem.grid, problem.goal, {5}).has_value());
  // Two deviations of 5 % are a factor of 1.105.
  EXPECT_EQ(best_setting(surface, problem.grid, problem.goal, {20.5, 2}), 8U);
  surface.excluded[10] = 1;
  EXPECT_EQ(best_setting(surface, problem.grid, problem.goal, {20.5}), 9U);
}

TEST(Surface, ChoosesWhatIsLeastKnown) {
  const Problem problem;
  Surface surface = descending(problem.grid);
  EXPECT_EQ(least_known_setting(surface, problem.grid, problem.goal, {}), 7U);
  EXPECT_EQ(least_known_setting(surface, problem.grid, problem.goal, {12}), 0U);
  surface.excluded[7] = 1;
  EXPECT_EQ(least_known_setting(surface, problem.grid, problem.goal, {}), 0U);
  EXPECT_FALSE(least_known_setting(surface, problem.grid, problem.goal, {5}).has_value());
}

TEST(Surface, LeavesOutWhatAnswersLate) {
  Problem problem;
  problem.trainer.kind = Kind::infer;
  const SettingGrid grid(problem.context(), {12, 2, 1.3, 3});
  const Goal goal{Objective::latency, 30'000, Duration(2'500'000'000), 20};
  Surface surface(grid.size());
  for (std::size_t i = 0; i < grid.size(); ++i) {
    surface.log_time[i] = static_cast<float>(std::log(grid.batch_size(i) == 16 ? 700 : 5000));
    surface.log_power[i] = static_cast<float>(std::log(20 - 0.1 * static_cast<double>(i)));
  }
  EXPECT_EQ(best_setting(surface, grid, goal, {}), 1U);
  surface.time_deviation.assign(grid.size(), 0.1F);
  EXPECT_TRUE(best_setting(surface, grid, goal, {.time_deviations = 1}).has_value());
  EXPECT_FALSE(best_setting(surface, grid, goal, {.time_deviations = 2}).has_value());  // 855 ms
}

// Of a server, of whose settings each draws as much as the others.
struct Served {
  Served() { surface.log_power.assign(grid.size(), static_cast<float>(std::log(12))); }
  static PolicyProblem server() {
    PolicyProblem problem;
    problem.trainer.kind = Kind::infer;
    return problem;
  }
  const PolicyProblem problem = server();
  const SettingGrid grid{problem.context(), {12, 2, 1.3, 3}};
  Surface surface{grid.size()};
};

// As a measurement of it would be judged: 267 ms until half of sixteen have come.
TEST(Surface, OneByOneItChoosesABatchThatHalfFullIsInTime) {
  Served served;
  const SettingGrid& grid = served.grid;
  Goal goal{Objective::energy, 30'000, std::chrono::milliseconds(500), 30};
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool sixteen = grid.batch_size(i) == 16;
    served.surface.log_time[i] = static_cast<float>(std::log(sixteen ? 26.5 : 5000));
  }
  EXPECT_FALSE(best_setting(served.surface, grid, goal, {}).has_value()) << "533 ms to fill";
  goal.one_by_one = true;
  const auto best = best_setting(served.surface, grid, goal, {});
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(grid.batch_size(*best), 16);
}

// Five requests a second: 32 are half full after three seconds, and none of them ever runs.
TEST(Surface, OneByOneTheLeastKnownIsNoBatchThatIsNeverHalfFullInTime) {
  Served served;
  const SettingGrid& grid = served.grid;
  Goal goal{Objective::energy, 30'000, std::chrono::milliseconds(2000), 5};
  served.surface.power_deviation.assign(grid.size(), 0.1F);
  for (std::size_t i = 0; i < grid.size(); ++i) {
    served.surface.time_deviation[i] = 0.01F * static_cast<float>(grid.batch_size(i));
  }
  const auto least_known = [&] {
    return grid.batch_size(least_known_setting(served.surface, grid, goal, {}).value());
  };
  EXPECT_GT(least_known(), 16) << "like clockwork it is measured";
  goal.one_by_one = true;
  EXPECT_EQ(least_known(), 16);
}

// One by one, what is late is cut short before its power is known.
TEST(Surface, OneByOneTheLeastKnownIsLikelyToBeInTime) {
  Served served;
  const SettingGrid& grid = served.grid;
  Goal goal{Objective::energy, 30'000, std::chrono::milliseconds(500), 60};
  served.surface.power_deviation.assign(grid.size(), 0.1F);
  served.surface.time_deviation.assign(grid.size(), 0.3F);
  served.surface.log_time.assign(grid.size(), static_cast<float>(std::log(5)));
  const std::size_t late = 0, in_time = grid.size() - 1;
  served.surface.time_deviation[late] = 0.5F;
  served.surface.time_deviation[in_time] = 0.4F;
  served.surface.log_time[late] = static_cast<float>(std::log(5000));
  EXPECT_EQ(least_known_setting(served.surface, grid, goal, {}), late) << "like clockwork";
  goal.one_by_one = true;
  EXPECT_NE(least_known_setting(served.surface, grid, goal, {}), late);
  served.surface.log_time[late] = served.surface.log_time[in_time];
  EXPECT_EQ(least_known_setting(served.surface, grid, goal, {}), late) << "in time as well";
}

TEST(Surface, DrawsItsFrontFromTheAllowed) {
  const Problem problem;
  Surface surface = descending(problem.grid);
  surface.log_time[5] = surface.log_time[4] + 5;  // beaten
  const std::vector<std::size_t> front =
      surface_front(surface, problem.grid, problem.goal, {20.5}, 64);
  EXPECT_EQ(front, (std::vector<std::size_t>{0, 1, 2, 3, 4, 6, 7, 8, 9, 10}));
  EXPECT_EQ(surface_front(surface, problem.grid, problem.goal, {20.5}, 3),
            (std::vector<std::size_t>{0, 4, 10}));
}

TEST(Surface, OfRooflineAgreesWithItsPredictions) {
  const Problem problem;
  const BoardModel board = *built_in_board_model("jetson-agx-orin");
  const DeviceParameters& device = board.parameters[0];
  const RooflineEstimate estimate = fit_roofline(device, {}, {}, nullptr);
  const Surface surface = roofline_surface(device, estimate, problem.grid);
  for (std::size_t i = 0; i < surface.size(); ++i) {
    const RooflinePrediction one = RooflinePredictor(device, estimate, problem.grid.batch_size(i))
                                       .predict(problem.grid.mode(i));
    EXPECT_FLOAT_EQ(surface.log_time[i], static_cast<float>(one.log_time));
    EXPECT_FLOAT_EQ(surface.power_deviation[i], static_cast<float>(one.power_deviation));
  }
}

}  // namespace
}  // namespace gearshift
