#include "policies/numerics/trade_off.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace gearshift {
namespace {

// One knob, as many values as there are costs; all of one batch size unless told.
struct Cost {
  double minibatch_ms;
  double power_w;
  std::int32_t batch_size = 16;
};

Profile profile_of(const std::vector<Cost>& costs) {
  KnobSpace space;
  space.knobs = {{"gpu_mhz", Unit::khz, KnobClass::clock, {}}};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    space.knobs[0].values.push_back(100'000 + static_cast<std::int64_t>(i));
  }
  Profile profile(space);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    ProfileCell cell;
    cell.mode.count = 1;
    cell.mode.values = {space.knobs[0].values[i]};
    cell.batch_size = costs[i].batch_size;
    cell.minibatch_ms = costs[i].minibatch_ms;
    cell.power_w = costs[i].power_w;
    profile.add(cell);
  }
  return profile;
}

TEST(TradeOff, FindsTheFrontsOfPowerAndOfEnergy) {
  const TradeOff costs = trade_off(profile_of({{100, 10}, {60, 20}, {70, 25}, {50, 40}}));
  EXPECT_EQ(costs.power_and_time, (std::vector<std::size_t>{0, 1, 3}));
  // 1.0, 1.2, 1.75 and 2.0 J.
  EXPECT_EQ(costs.energy_and_time, (std::vector<std::size_t>{0, 1, 3}));
  EXPECT_DOUBLE_EQ(costs.settings[1].energy_j, 1.2);
}

TEST(TradeOff, ComparesBatchSizesByTheTimeOfAsManySamples) {
  const TradeOff costs = trade_off(profile_of({{100, 10, 8}, {240, 10, 32}, {kNotTimed, 5, 8}}));
  EXPECT_EQ(costs.samples, 8);
  ASSERT_EQ(costs.settings.size(), 2U);  // what was not timed is not there
  EXPECT_DOUBLE_EQ(costs.settings[1].time_ms, 60);
  EXPECT_EQ(costs.power_and_time, (std::vector<std::size_t>{1}));
}

TEST(TradeOff, LooksUpTheFastestSettingAsAScanFindsIt) {
  std::mt19937_64 engine(1);
  std::vector<Cost> drawn;
  for (int i = 0; i < 200; ++i) {
    drawn.push_back(
        {static_cast<double>(20 + engine() % 80), static_cast<double>(10 + engine() % 40)});
  }
  const TradeOff costs = trade_off(profile_of(drawn));
  for (int cap_w = 9; cap_w <= 51; ++cap_w) {
    double least_ms = kNotTimed;
    for (const Cost& one : drawn) {
      if (one.power_w <= cap_w && one.minibatch_ms < least_ms) least_ms = one.minibatch_ms;
    }
    const std::optional<std::size_t> found = fastest_under(costs, cap_w);
    ASSERT_EQ(found.has_value(), least_ms < kNotTimed) << cap_w;
    if (!found) continue;
    EXPECT_DOUBLE_EQ(costs.settings[*found].time_ms, least_ms) << cap_w;
    EXPECT_LE(costs.settings[*found].power_w, cap_w);
  }
}

TEST(TradeOff, OfNothingIsNothing) {
  const TradeOff costs = trade_off(Profile());
  EXPECT_TRUE(costs.settings.empty());
  EXPECT_FALSE(fastest_under(costs, 100).has_value());
}

}  // namespace
}  // namespace gearshift
