// The gearshift program: parses the command line and runs one command.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/empty_values.h"
#include "cli/one_value_each.h"
#include "cli/standard_descriptors.h"
#include "cli/standard_output.h"

namespace {

// What is wrong with a command line, which command it was meant for, and where that one is
// explained.
std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = app;
  std::string name = app->get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += ' ' + command->get_name();
  }
  std::string unknown;
  for (const std::string& word : command->remaining())
    unknown += (unknown.empty() ? "" : " ") + word;
  std::string what = error.what();
  if (!unknown.empty()) {
    const bool lacks_command = !command->get_subcommands({}).empty() && unknown.front() != '-';
    what = unknown + (lacks_command ? ": no such command" : ": not known here");
  }
  return name + ": " + what + "; see " + name + " --help\n";
}

// Standard output has the answer of a command, which was to get there; what a daemon does is on its
// board, and nobody has to read what it tells.
bool answers(const CLI::App& app) {
  return !app.got_subcommand("run") && !app.got_subcommand("profile");
}

// With the answer, or the help that was asked for, where it was to get.
int finish(int exit_code) {
  if (exit_code != gearshift::kExitOk) return exit_code;
  try {
    gearshift::finish_standard_output();
    return exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gearshift: %s\n", error.what());
    return gearshift::kExitFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  gearshift::fill_standard_descriptors();
  CLI::App app{
      "gearshift shifts an accelerator's gears (cores, clocks, power limit, batch size) while a "
      "DNN\n"
      "trains and serves, so that it runs as fast as its power allows, and never past it.\n\n"
      "Example: gearshift run --power 30W",
      "gearshift"};
  app.set_version_flag("--version", "gearshift " GEARSHIFT_VERSION);
  app.require_subcommand(1);
  app.failure_message(usage_message);
  int exit_code = gearshift::kExitOk;
  gearshift::add_run(app, exit_code);
  gearshift::add_simulate(app, exit_code);
  gearshift::add_requests(app, exit_code);
  gearshift::add_evaluate(app, exit_code);
  gearshift::add_emulate(app, exit_code);
  gearshift::add_board(app, exit_code);
  gearshift::add_boards(app, exit_code);
  gearshift::add_cap(app, exit_code);
  gearshift::add_goal(app, exit_code);
  gearshift::add_status(app, exit_code);
  gearshift::add_explain(app, exit_code);
  gearshift::add_stop(app, exit_code);
  gearshift::add_keys(app, exit_code);
  gearshift::add_restore(app, exit_code);
  gearshift::add_helper(app, exit_code);
  gearshift::add_model(app, exit_code);
  gearshift::add_replay(app, exit_code);
  gearshift::add_powertrain(app, exit_code);
  gearshift::add_pareto(app, exit_code);
  gearshift::add_export(app, exit_code);
  gearshift::add_profile(app, exit_code);
  gearshift::add_import_tegrastats(app, exit_code);
  gearshift::refuse_empty_values(app);
  gearshift::take_one_value_each(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return finish(app.exit(error) == 0 ? gearshift::kExitOk : gearshift::kExitUsage);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "gearshift: %s\n", error.what());
    return gearshift::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gearshift: %s\n", error.what());
    return gearshift::kExitFailed;
  }
  return answers(app) ? finish(exit_code) : exit_code;
}
