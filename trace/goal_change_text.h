// A change of a goal as one line of a recording: "objective=weighted energy_weight=0.75".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/goal.h"

namespace gearshift {

// Names only what changes; numbers are the shortest that read back as the same.
std::string format_goal_change(const GoalChange& change);

// Nullopt for any text that format_goal_change does not make.
std::optional<GoalChange> parse_goal_change(std::string_view text);

}  // namespace gearshift
