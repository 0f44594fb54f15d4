// Runs the cases of a grid on several threads and gathers their trials in the order of the grid.
//
// Threads, because a grid has thousands of cases that know nothing of each other, and each takes
// milliseconds of one core. They hand over values; all files are written by the calling thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "evaluation/grid.h"
#include "evaluation/trial.h"
#include "evaluation/trial_file.h"

namespace gearshift {

// Told how far a grid is, several times a second, on the calling thread.
class GridWatch {
 public:
  virtual ~GridWatch() = default;
  // `known` of the `done` cases were in the trial file.
  virtual void progress(std::size_t done, std::size_t known, std::size_t total) = 0;
  // True: end soon; cases that have begun are finished and kept.
  virtual bool stopped() = 0;
};

// One entry a case of the grid; nullopt for those that were left out because the watch stopped it.
// `file` may be null; a trial that it has is not run again. Whatever the number of threads, a case
// ends the same. Throws what `run_case` throws, after the other threads have ended.
std::vector<std::optional<Trial>> run_grid(const Grid& grid, const RunCase& run_case,
                                           TrialFile* file, GridWatch& watch, unsigned threads);

}  // namespace gearshift
