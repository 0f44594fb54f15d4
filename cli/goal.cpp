// gearshift goal: changes what a running daemon minimises.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"
#include "cli/flag_value.h"
#include "cli/goal_flags.h"
#include "cli/units.h"

namespace gearshift {
namespace {

struct GoalChangeOptions {
  std::string objective;
  std::string energy_weight;
  ControlAddress control;
};

GoalChange change_of(const GoalChangeOptions& options) {
  GoalChange change;
  if (!options.objective.empty()) change.objective = parse_objective(options.objective);
  if (!options.energy_weight.empty()) {
    change.energy_weight =
        flag_value("--energy-weight", options.energy_weight, parse_energy_weight);
  }
  if (!change.objective && !change.energy_weight) {
    throw std::invalid_argument("nothing to change: give --objective, --energy-weight, or both");
  }
  return change;
}

void change_goal(const GoalChangeOptions& options) {
  const GoalChange change = change_of(options);
  ControlClient(options.control).goal(change);
  std::string text;
  if (change.objective) text = fmt::format("objective {}", objective_name(*change.objective));
  if (change.energy_weight) {
    text += fmt::format("{}energy weight {:.6g}", text.empty() ? "" : ", ", *change.energy_weight);
  }
  std::printf("%s\n", text.c_str());
}

}  // namespace

void add_goal(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<GoalChangeOptions>();
  CLI::App* command = app.add_subcommand("goal", "Change what a running daemon counts as best");
  command->add_option("--objective", options->objective,
                      "what is best: least time or energy of a sample, least latency of a request, "
                      "least weighted or target cost, or throughput, the most training beside "
                      "inference");
  command->add_option("--energy-weight", options->energy_weight,
                      "of weighted and target: 0 counts time alone, 1 energy alone");
  add_control_option(*command, options->control);
  command->footer(
      "What is not given stays as it is. The policy starts again and meets all that it has "
      "measured\n"
      "before; nothing of it is measured again.\n"
      "Example: from as fast as may be towards less energy\n"
      "  gearshift run --objective weighted --energy-weight 0 &\n"
      "  gearshift goal --energy-weight 0.75");
  command->callback(
      [options, &exit_code] { exit_code = run_control_request([&] { change_goal(*options); }); });
}

}  // namespace gearshift
