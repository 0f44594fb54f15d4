// gearshift stop: ends a running daemon, which then restores the board.
#include <cstdio>
#include <memory>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"

namespace gearshift {

void add_stop(CLI::App& app, int& exit_code) {
  auto control = std::make_shared<ControlAddress>();
  CLI::App* command = app.add_subcommand("stop", "Stop a running daemon");
  add_control_option(*command, *control);
  command->footer(
      "The daemon leaves the board as its --on-exit says, and ends. Trainers go on.\n"
      "Example: gearshift stop");
  command->callback([control, &exit_code] {
    exit_code = run_control_request([&] {
      ControlClient(*control).stop();
      std::printf("the daemon is stopping\n");
    });
  });
}

}  // namespace gearshift
