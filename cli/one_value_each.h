// What follows the value of a flag is not a second one.
#pragma once

#include <CLI/CLI.hpp>

namespace gearshift {

// Lets every flag of `app` and its commands take one value each time it is given, as many times as
// before, with the commas it takes. Else `--policy maxn spec.toml` has two policies and no spec,
// and nobody is told.
void take_one_value_each(CLI::App& app);

}  // namespace gearshift
