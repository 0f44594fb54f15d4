// Refuses an empty value of any option: the shell makes one of a variable that is not set, and what
// was asked for, a power cap say, must not be dropped for it.
#pragma once

#include <CLI/CLI.hpp>

namespace gearshift {

// From here on parsing throws CLI::ValidationError, which names the option and what it takes, where
// an option of `app` or of its commands is given an empty text. Options that are added later are
// not looked at.
void refuse_empty_values(CLI::App& app);

}  // namespace gearshift
