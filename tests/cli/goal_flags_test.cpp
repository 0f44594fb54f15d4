#include "cli/goal_flags.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace gearshift {
namespace {

std::string error_of(const GoalFlags& flags, const KnobSpace& knobs = {}) {
  try {
    Goal goal = make_goal(flags);
    complete_goal(goal, knobs);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

KnobSpace limited() {
  KnobSpace space;
  space.knobs.push_back({"power_limit_w", Unit::mw, KnobClass::power_limit, {100'000, 250'000}});
  return space;
}

TEST(GoalFlags, NameWhatIsWrongAndWhatIsAllowed) {
  const struct {
    GoalFlags flags;
    const char* words;
  } cases[] = {
      {{.objective = "speed"}, "allowed are time, energy, latency, weighted, target and"},
      {{.objective = "weighted", .energy_weight = "1.5"}, "--energy-weight: '1.5'"},
      {{.objective = "energy", .energy_weight = "0.5"}, "--energy-weight counts with"},
      {{.energy_per_sample = "2W"}, "--energy-per-sample: '2W'"},
      {{.objective = "latency"}, "give --rate"},
      {{.objective = "target"}, "give --priced-power"},
  };
  for (const auto& one : cases) {
    EXPECT_NE(error_of(one.flags).find(one.words), std::string::npos) << error_of(one.flags);
  }
}

TEST(GoalFlags, PriceASecondAtTheHighestPowerLimitUnlessTold) {
  Goal goal = make_goal({.objective = "target"});
  complete_goal(goal, limited());
  EXPECT_EQ(goal.priced_power_mw, 250'000);
  goal = make_goal({.objective = "target", .priced_power = "60W"});
  complete_goal(goal, limited());
  EXPECT_EQ(goal.priced_power_mw, 60'000);
}

TEST(GoalFlags, AreSaidAsWhatIsSought) {
  EXPECT_EQ(sought_text({.objective = Objective::throughput}), "most training");
  EXPECT_EQ(sought_text({.objective = Objective::time}), "least time");
  EXPECT_EQ(sought_text({.objective = Objective::weighted, .energy_weight = 0.25}),
            "least weighted, energy weight 0.25");
}

TEST(GoalFlags, TakeTimeAndNoLimitByDefault) { EXPECT_EQ(make_goal({}), Goal{}); }

}  // namespace
}  // namespace gearshift
