// One line of a CSV file (RFC 4180).
#pragma once

#include <string>
#include <vector>

namespace gearshift {

// The fields with commas between them and a newline; in quotes those that need them.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace gearshift
