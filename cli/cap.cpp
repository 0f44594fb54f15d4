// gearshift cap: sets or lifts the operator's power cap of a running daemon.
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include "bridge/control_client.h"
#include "cli/commands.h"
#include "cli/control_request.h"
#include "cli/flag_value.h"
#include "cli/note_text.h"
#include "cli/units.h"
#include "controller/limit_source.h"

namespace gearshift {
namespace {

struct CapOptions {
  std::string power;
  ControlAddress control;
};

// Another source may say less than the operator does: a schedule, a battery, heat.
std::string binding_text(const wire::StatusAnswer& status) {
  if (status.cap_mw <= 0) return "nothing caps power now";
  if (status.cap_source == "operator") return "cap " + exact_watts(status.cap_mw);
  if (is_power(status.cap_mw)) {
    return fmt::format("the {}'s {} binds", status.cap_source, exact_watts(status.cap_mw));
  }
  return fmt::format("{} ({}) binds", cap_text(status.cap_mw), status.cap_source);
}

// After the tick that acts on the change, in which a script may think for seconds.
wire::StatusAnswer status_after(const ControlAddress& control) {
  try {
    return ControlClient(control, std::chrono::seconds(10)).status();
  } catch (const std::exception& error) {
    throw std::runtime_error("the daemon took the cap, and does not tell what binds now: " +
                             std::string(error.what()));
  }
}

void cap(const CapOptions& options) {
  const auto cap_mw = flag_value("power", options.power, parse_cap_mw);
  ControlClient(options.control).cap(cap_mw.value_or(0));
  const wire::StatusAnswer status = status_after(options.control);
  std::string text = binding_text(status);
  if (!cap_mw) {
    text = "the operator's cap is lifted; " + text;
  } else if (status.cap_source != "operator") {
    text = "operator's cap " + exact_watts(*cap_mw) + "; " + text;
  }
  std::printf("%s\n", text.c_str());
}

}  // namespace

void add_cap(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<CapOptions>();
  CLI::App* command = app.add_subcommand("cap", "Change the power cap of a running daemon");
  command->add_option("power", options->power, "20W, 25.5W, 800mW, or none to lift the cap")
      ->required();
  add_control_option(*command, options->control);
  command->footer(
      "The daemon acts on a lower cap at once, and searches again within the new one. Where "
      "another\n"
      "source says less (a schedule, a battery, heat), the answer names it.\n"
      "It holds until the daemon ends. Where that is killed, a lower one than it began with goes\n"
      "on at the next start; to keep one for good, give it with --power, or power in run.toml.\n"
      "Example: gearshift cap 20W");
  command->callback(
      [options, &exit_code] { exit_code = run_control_request([&] { cap(*options); }); });
}

}  // namespace gearshift
