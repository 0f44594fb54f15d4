#include "trace/goal_change_text.h"

#include <algorithm>
#include <charconv>

#include "trace/csv_text.h"
#include "trace/recording_names.h"

namespace gearshift {
namespace {

constexpr std::string_view kObjective = "objective=";
constexpr std::string_view kEnergyWeight = "energy_weight=";

std::optional<double> parse_weight(std::string_view text) {
  double weight = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), weight);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  if (!whole || !(weight >= 0 && weight <= 1)) return std::nullopt;
  return weight;
}

bool parse_part(std::string_view part, GoalChange& change) {
  if (part.starts_with(kObjective)) {
    change.objective = from_word<Objective>(part.substr(kObjective.size()));
    return change.objective.has_value();
  }
  if (!part.starts_with(kEnergyWeight)) return false;
  change.energy_weight = parse_weight(part.substr(kEnergyWeight.size()));
  return change.energy_weight.has_value();
}

}  // namespace

std::string format_goal_change(const GoalChange& change) {
  std::string text;
  if (change.objective) text = std::string(kObjective) + std::string(word_of(*change.objective));
  if (!change.energy_weight) return text;
  if (!text.empty()) text += ' ';
  return text + std::string(kEnergyWeight) + shortest_text(*change.energy_weight);
}

std::optional<GoalChange> parse_goal_change(std::string_view text) {
  GoalChange change;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(' '));
    if (!parse_part(part, change)) return std::nullopt;
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return change;
}

}  // namespace gearshift
