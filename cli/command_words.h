// The command line of a run, as its recording keeps it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gearshift {

// The command's name and every option it was given, in quotes where a shell needs them: pasted, it
// runs again. Options are in the order of --help.
std::string command_words(const CLI::App& command);

}  // namespace gearshift
