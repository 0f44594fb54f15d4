#include "cli/empty_values.h"

#include <spdlog/fmt/fmt.h>

#include <string>

namespace gearshift {
namespace {

std::string complaint(const CLI::Option& option) {
  return fmt::format("empty, as of a variable that is not set; give a value{}{}",
                     option.get_required() ? "" : ", or leave it out",
                     option.get_description().empty() ? "" : ": " + option.get_description());
}

}  // namespace

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag takes no value
    // Put before what else the option's values are checked for.
    const auto check = [option](std::string& value) {
      return value.empty() ? complaint(*option) : std::string();
    };
    option->transform(CLI::Validator(check, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) refuse_empty_values(*command);
}

}  // namespace gearshift
