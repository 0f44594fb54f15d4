// gearshift emulate --serve: one program that trains and serves by turns on a virtual board.
#pragma once

#include <optional>

#include "boards/board_description.h"
#include "boards/sysroot.h"
#include "cli/emulate_options.h"
#include "controller/clock.h"

namespace gearshift {

// Until the time is over or a signal comes; prints what was done. Returns the exit code. Throws
// std::invalid_argument that names the option that is missing or cannot be used.
int emulate_interleaved(const EmulateOptions& options, const BoardDescription& board,
                        const WorkloadParameters& train, const WorkloadParameters& infer,
                        Sysroot& root, std::optional<Duration> duration);

}  // namespace gearshift
