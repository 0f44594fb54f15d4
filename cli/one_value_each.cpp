#include "cli/one_value_each.h"

namespace gearshift {

void take_one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
  for (CLI::App* command : app.get_subcommands({})) take_one_value_each(*command);
}

}  // namespace gearshift
