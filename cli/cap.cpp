// gearshift cap: sets or lifts the operator's power cap of a running daemon.
#include <cstdio>
#include <memory>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"
#include "cli/flag_value.h"
#include "cli/units.h"

namespace gearshift {
namespace {

struct CapOptions {
  std::string power;
  ControlAddress control;
};

void cap(const CapOptions& options) {
  const auto cap_mw = flag_value("power", options.power, parse_cap_mw);
  ControlClient(options.control).cap(cap_mw.value_or(0));
  if (!cap_mw) {
    std::printf("the operator's cap is lifted\n");
  } else {
    std::printf("cap %g W\n", static_cast<double>(*cap_mw) / 1000.0);
  }
}

}  // namespace

void add_cap(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CapOptions>();
  CLI::App* command = app.add_subcommand("cap", "Change the power cap of a running daemon");
  command->add_option("power", options->power, "20W, 25.5W, 800mW, or none to lift the cap")
      ->required();
  add_control_option(*command, options->control);
  command->footer(
      "The daemon acts on a lower cap at once, and searches again within the new one.\n"
      "Example: gearshift cap 20W");
  command->callback(
      [options, &exit_code] { exit_code = run_control_request([&] { cap(*options); }); });
}

}  // namespace gearshift
