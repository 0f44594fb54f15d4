// What cap, goal, status and stop share: their --control and --key options, and what becomes of a
// failed request.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "bridge/control_client.h"

namespace gearshift {

// Adds --control ENDPOINT and --key FILE.
void add_control_option(CLI::App& command, ControlAddress& address);

// Runs `request` and returns its exit code: kExitOk, kExitUnreachable where no daemon answers,
// kExitUsage for a value that cannot be used, kExitFailed for the rest. Prints what went wrong.
int run_control_request(const std::function<void()>& request);

}  // namespace gearshift
