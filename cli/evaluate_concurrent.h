// gearshift evaluate --problem concurrent: training beside inference, the power mode and the
// inference batch size chosen together.
#pragma once

#include <string>

#include "cli/evaluate_options.h"

namespace gearshift {

// Runs every policy on every pair of a training and an inference workload of the profiles, prints
// the summary and writes the reports; the exit code. `command` is how it was called, for the
// report. Throws PolicyError where a script cannot be used, std::invalid_argument and
// std::runtime_error that name the option or file, and the way out.
int evaluate_concurrent(const EvaluateOptions& options, const std::string& command);

}  // namespace gearshift
