// Where `gearshift run` listens, and whose keys open it.
#pragma once

#include <filesystem>
#include <string>

#include "cli/run_options.h"

namespace gearshift {

// As given, or else the usual ones.
std::string workload_endpoint_of(const RunOptions& options);
std::string control_endpoint_of(const RunOptions& options);

// The folder of the daemon's keys; empty where nobody comes in by a key. Throws
// std::invalid_argument where keys are needed, or were asked for, and there are none.
std::filesystem::path keys_of(const RunOptions& options);

// The same options. Throws std::invalid_argument, with the way out, where an endpoint is none that
// can be bound, where both are one, and what keys_of throws.
const RunOptions& with_usable_endpoints(const RunOptions& options);

}  // namespace gearshift
