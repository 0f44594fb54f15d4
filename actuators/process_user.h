// Tells whose a process is, before it is acted on.
#pragma once

#include <cstdint>
#include <optional>

#include "boards/sysroot.h"

namespace gearshift {

// The user that process `pid` runs as: of both its real and its effective id; nullopt where the two
// differ or there is no such process.
std::optional<std::uint32_t> user_of_process(const Sysroot& root, std::int64_t pid);

}  // namespace gearshift
