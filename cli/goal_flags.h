// What is minimised and within which limits, as every command that takes a goal is told it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "controller/goal.h"
#include "controller/knob.h"

namespace gearshift {

// As typed; an empty text was not given. The power cap is no part of it.
struct GoalFlags {
  std::string objective{};
  std::string energy_weight{};      // "0.75"
  std::string priced_power{};       // "60W"
  std::string energy_per_sample{};  // "2J"
  std::string latency{};            // "100ms"
  std::string rate{};               // "60", requests a second
};

// `fallback` says what holds where no objective is given.
void add_goal_flags(CLI::App& command, GoalFlags& flags, std::string_view fallback);

Objective parse_objective(std::string_view name);

// Throws std::invalid_argument that names the flag, its value and what is allowed. Without an
// objective it is time.
Goal make_goal(const GoalFlags& flags);

// Prices a second at the board's highest power limit where no flag did. Throws
// std::invalid_argument where the objective still lacks a number that it needs.
void complete_goal(Goal& goal, const KnobSpace& knobs);

// "least energy", "most training": what is sought.
std::string sought_text(const Goal& goal);

// Said of objective latency while no server is attached.
inline constexpr std::string_view kNobodysLatency =
    ", but no server is attached: the time of a sample counts";

// The limits beside power, each after a comma: ", at most 2 J a sample, latency up to 100.0 ms".
std::string limits_text(const Goal& goal);

}  // namespace gearshift
