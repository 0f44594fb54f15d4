#include "trace/goal_change_text.h"

#include <gtest/gtest.h>

#include <string>

namespace gearshift {
namespace {

TEST(GoalChangeText, ReadsBackAsItWasWritten) {
  for (const GoalChange& change :
       {GoalChange{}, GoalChange{.objective = Objective::weighted},
        GoalChange{.energy_weight = 0.1 + 0.2}, GoalChange{.energy_weight = 0},
        GoalChange{.objective = Objective::target, .energy_weight = 1}}) {
    const std::string text = format_goal_change(change);
    ASSERT_TRUE(parse_goal_change(text)) << text;
    EXPECT_EQ(*parse_goal_change(text), change) << text;
  }
  EXPECT_EQ(format_goal_change({.objective = Objective::weighted, .energy_weight = 0.75}),
            "objective=weighted energy_weight=0.75");
}

TEST(GoalChangeText, RefusesWhatItDoesNotWrite) {
  for (const char* text :
       {"objective=speed", "energy_weight=", "energy_weight=1.5", "energy_weight=-0.1",
        "energy_weight=nan", "energy_weight=0.5x", "weight=0.5", "objective", " "}) {
    EXPECT_FALSE(parse_goal_change(text)) << text;
  }
}

}  // namespace
}  // namespace gearshift
