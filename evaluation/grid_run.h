// Runs the cases of a grid on several threads and gathers their trials in the order of the grid.
#pragma once

#include <optional>
#include <vector>

#include "evaluation/case_run.h"
#include "evaluation/grid.h"
#include "evaluation/trial.h"
#include "evaluation/trial_file.h"

namespace gearshift {

// One entry a case of the grid; nullopt for those that were left out because the watch stopped it.
// `file` may be null; a trial that it has is not run again. Whatever the number of threads, a case
// ends the same. Throws what `run_case` throws, after the other threads have ended.
std::vector<std::optional<Trial>> run_grid(const Grid& grid, const RunCase& run_case,
                                           TrialFile* file, CaseWatch& watch, unsigned threads);

}  // namespace gearshift
