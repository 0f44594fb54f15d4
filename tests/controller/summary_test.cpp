#include "controller/summary.h"

#include <gtest/gtest.h>

namespace gearshift {
namespace {

Choice under(std::int64_t cap_mw, std::int32_t batch_size, Objective objective = Objective::time) {
  Choice choice;
  choice.cap_mw = cap_mw;
  choice.goal.objective = objective;
  choice.setting.batch_size[index(Kind::train)] = batch_size;
  return choice;
}

TEST(Summary, KeepsTheNewestChoiceOfACapAndAGoal) {
  Summary summary;
  summary.keep(under(20'000, 1));
  summary.keep(under(20'000, 2));
  ASSERT_EQ(summary.choices.size(), 1U);
  EXPECT_EQ(summary.choices[0].setting, under(20'000, 2).setting);
  summary.keep(under(30'000, 3));
  summary.keep(under(30'000, 4, Objective::energy));
  Choice weighted = under(30'000, 5, Objective::energy);
  weighted.goal.energy_weight = 0.75;
  summary.keep(weighted);
  EXPECT_EQ(summary.choices.size(), 4U);
  Choice slower = weighted;
  slower.goal.arrivals_per_s = 7;
  summary.keep(slower);
  EXPECT_EQ(summary.choices.size(), 4U) << "the rate of requests is not the operator's";
  summary.keep(under(20'000, 1));
  EXPECT_EQ(summary.choices.size(), 5U) << "a cap that is back was not the newest one";
}

TEST(Summary, KeepsTheNewestOfMoreThan256Choices) {
  Summary summary;
  for (int i = 1; i <= 300; ++i) summary.keep(under(1000 * i, 1));
  ASSERT_EQ(summary.choices.size(), Summary::kMostChoices);
  EXPECT_EQ(summary.choices.front().cap_mw, 45'000);
  EXPECT_EQ(summary.choices.back().cap_mw, 300'000);
}

}  // namespace
}  // namespace gearshift
