// Reads the policy script that a command was given.
#pragma once

#include <string>

namespace gearshift {

// Throws PolicyError where the file cannot be read.
std::string read_script(const std::string& path);

}  // namespace gearshift
