// gearshift evaluate --problem drift: the world changes while a choice is held.
#pragma once

#include "cli/evaluate_options.h"

namespace gearshift {

// Prints the table and writes the reports that the options ask for; the exit code. Throws
// std::runtime_error or std::invalid_argument that names the option and what is allowed.
int evaluate_drift(const EvaluateOptions& options);

}  // namespace gearshift
