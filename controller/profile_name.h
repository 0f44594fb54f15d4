// What a device or a workload may be called in a file: a profile's, a model's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gearshift {

// Nullopt for 1 to 64 bytes of printable UTF-8 without a blank at either end, where a file that a
// spreadsheet has saved would have lost it; else what is expected instead.
std::optional<std::string> name_objection(std::string_view name);

// Whether it is UTF-8 (RFC 3629) without control characters.
bool is_printable(std::string_view text);

}  // namespace gearshift
