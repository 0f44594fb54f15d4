// gearshift evaluate --problem recurring: jobs whose batch size and power limit are chosen run by
// run.
#pragma once

#include "cli/evaluate_options.h"

namespace gearshift {

// Plays every job of the profiles with every policy and seed, prints the summary and writes the
// report of --json; the exit code. Throws PolicyError where a script fails, std::invalid_argument
// and std::runtime_error that name the option or file, and the way out.
int evaluate_recurring(const EvaluateOptions& options);

}  // namespace gearshift
