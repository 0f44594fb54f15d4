#include "cli/control_request.h"

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "bridge/control_client.h"
#include "cli/commands.h"

namespace gearshift {

void add_control_option(CLI::App& command, ControlAddress& address) {
  command.add_option("--control", address.endpoint,
                     "control endpoint of the daemon, as gearshift run was given it "
                     "(default: control.ipc in the runtime folder)");
  command.add_option("--key", address.key,
                     "file of gearshift keys client, where the endpoint is tcp:// and the daemon "
                     "has keys (default: GEARSHIFT_KEY)");
}

int run_control_request(const std::function<void()>& request) {
  int exit_code = kExitFailed;
  try {
    request();
    return kExitOk;
  } catch (const UnreachableError& error) {
    exit_code = kExitUnreachable;
    std::fprintf(stderr, "gearshift: %s\n", error.what());
  } catch (const std::invalid_argument& error) {
    exit_code = kExitUsage;
    std::fprintf(stderr, "gearshift: %s\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gearshift: %s\n", error.what());
  }
  return exit_code;
}

}  // namespace gearshift
