// gearshift model: how good the board model is, what a workload demands by a profile, and what the
// model says of every mode.
#include "cli/commands.h"
#include "cli/model_commands.h"

namespace gearshift {

void add_model(CLI::App& app, int& exit_code) {
  CLI::App* model = app.add_subcommand(
      "model",
      "Check the boards' model of time and power, fit a workload to it, or write it as a profile");
  model->require_subcommand(1);
  model->footer(
      "The formulas are in docs/board-model.md, a profile's columns in docs/profiles.md.\n"
      "Example: gearshift model fit my-profile.csv --board jetson-agx-orin");
  add_model_check(*model, exit_code);
  add_model_fit(*model, exit_code);
  add_model_profile(*model, exit_code);
}

}  // namespace gearshift
