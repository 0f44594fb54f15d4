#include "cli/goal_flags.h"

#include <spdlog/fmt/fmt.h>

#include <stdexcept>

#include "cli/flag_value.h"
#include "cli/units.h"

namespace gearshift {
namespace {

// Reads `text` by `parse` into `value`, where it is given.
template <typename Parse, typename Value>
void read_flag(const char* flag, const std::string& text, Parse parse, Value& value) {
  if (!text.empty()) value = flag_value(flag, text, parse);
}

[[noreturn]] void fail(const std::string& what) { throw std::invalid_argument(what); }

}  // namespace

void add_goal_flags(CLI::App& command, GoalFlags& flags, std::string_view fallback) {
  command.add_option("--objective", flags.objective,
                     fmt::format("what is best: least time or energy of a sample, least latency of "
                                 "a request, least weighted or target cost, or throughput, the "
                                 "most training beside inference (default: {})",
                                 fallback));
  command.add_option("--energy-weight", flags.energy_weight,
                     "of weighted and target: 0 counts time alone, 1 energy alone (default: 0.5)");
  command.add_option("--priced-power", flags.priced_power,
                     "of target: a second costs as much as this power would, for example 60W "
                     "(default: the board's highest power limit)");
  command.add_option("--energy-per-sample", flags.energy_per_sample,
                     "most energy of a sample, for example 2J");
  command.add_option(
      "--rate", flags.rate,
      "requests that arrive a second, for inference; a server that reports its requests tells it");
  command.add_option("--latency", flags.latency,
                     "most latency of a request, for example 100ms; judged at the rate");
}

Objective parse_objective(std::string_view name) {
  for (const Objective one : kObjectives) {
    if (objective_name(one) == name) return one;
  }
  fail(fmt::format(
      "--objective '{}': allowed are time, energy, latency, weighted, target and throughput",
      name));
}

Goal make_goal(const GoalFlags& flags) {
  Goal goal;
  read_flag("--rate", flags.rate, parse_rate, goal.arrivals_per_s);
  if (!flags.objective.empty()) goal.objective = parse_objective(flags.objective);
  read_flag("--energy-weight", flags.energy_weight, parse_energy_weight, goal.energy_weight);
  read_flag("--priced-power", flags.priced_power, parse_power_mw, goal.priced_power_mw);
  read_flag("--energy-per-sample", flags.energy_per_sample, parse_energy_j, goal.energy_j);
  read_flag("--latency", flags.latency, parse_latency, goal.latency);
  if (!flags.energy_weight.empty() && !goal.weighs()) {
    fail("--energy-weight counts with --objective weighted or target");
  }
  return goal;
}

void complete_goal(Goal& goal, const KnobSpace& knobs) {
  const auto limit = knobs.find("power_limit_w");
  if (goal.priced_power_mw <= 0 && limit) {
    goal.priced_power_mw = knobs.knobs[*limit].values.back();
  }
  if (goal.objective == Objective::latency && goal.arrivals_per_s <= 0) {
    fail("--objective latency: give --rate, the requests that arrive a second, for example 60");
  }
  if (!objection(goal).empty()) {
    fail(
        "--objective target: this board has no power limit that prices a second; give "
        "--priced-power, the most it may draw, for example 60W");
  }
}

std::string sought_text(const Goal& goal) {
  return goal.objective == Objective::throughput ? "most training" : "least " + describe(goal);
}

std::string limits_text(const Goal& goal) {
  std::string text;
  if (goal.energy_j) text += fmt::format(", at most {:.6g} J a sample", *goal.energy_j);
  if (goal.arrivals_per_s > 0) text += fmt::format(", {:.4g} requests/s", goal.arrivals_per_s);
  if (goal.latency) text += ", latency up to " + milliseconds_text(*goal.latency);
  return text;
}

}  // namespace gearshift
