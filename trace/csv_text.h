// Texts and numbers as fields of a CSV line.
#pragma once

#include <string>
#include <string_view>

namespace gearshift {

// The text as one field, in quotes where it needs them.
std::string csv_field(std::string_view text);
// The shortest text that reads back as the same number.
std::string shortest_text(double value);

}  // namespace gearshift
