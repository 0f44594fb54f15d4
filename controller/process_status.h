// Reads whose a process is in what the kernel says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gearshift {

// Of the text of /proc/PID/status: the user that is both its real and its effective one; nullopt
// where the two differ, or where the text does not say.
std::optional<std::uint32_t> user_in_status(std::string_view text);

}  // namespace gearshift
