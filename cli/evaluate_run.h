// What every kind of `gearshift evaluate` needs around its cases: the policies, the file of trials,
// progress, and where the results came from. A report is dated by the wall clock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/evaluate_options.h"
#include "evaluation/grid.h"
#include "evaluation/html_page.h"
#include "evaluation/trial.h"

namespace gearshift {

// Reads and checks the scripts of --policy; each gets a name of its own. Throws PolicyError where
// one cannot be used.
std::vector<Contestant> read_contestants(const std::vector<std::string>& paths);

// `name`, or, where one of `taken` has it, with `detail` and then a number behind it.
std::string free_name(const std::vector<std::string>& taken, const std::string& name,
                      const std::string& detail);

// The program's version, size and date: one that was built anew may end a case otherwise.
std::string this_program();

// The file of trials: the one that is named, or the one beside the first report; empty: none.
std::string results_path(const EvaluateOptions& options);

// Runs what the file of trials does not have. Nullopt, after a message, where a signal stopped it.
std::optional<std::vector<Trial>> run_or_resume(const EvaluateOptions& options, const Grid& grid,
                                                const RunCase& run_case);

// Says that a signal stopped the evaluation, and where the rows are that had finished.
void tell_stopped(const EvaluateOptions& options, std::size_t finished, std::size_t rows);

// Calls `run` with each number below `count`, on as many threads as --threads says, with progress.
void run_rows(const EvaluateOptions& options, std::size_t count,
              const std::function<void(std::size_t)>& run);

Provenance provenance_of(const EvaluateOptions& options, const std::string& command);

// The script of a row, and what it failed of; empty where it did not.
struct ScriptEnd {
  std::string policy;
  std::string failure;
};

// A script that failed has rows, too: the safe setting is held. They are not to be overlooked. One
// entry a row, those of a policy one after another.
void report_failures(const std::vector<ScriptEnd>& ends);
void report_failures(const Grid& grid, const std::vector<Trial>& trials);

}  // namespace gearshift
