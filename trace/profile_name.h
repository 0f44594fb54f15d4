// What a device or a workload may be called in a profile's file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gearshift {

// Nullopt for 1 to 64 bytes of printable UTF-8 without a blank at either end, where a file that a
// spreadsheet has saved would have lost it; else what is expected instead.
std::optional<std::string> name_objection(std::string_view name);

}  // namespace gearshift
