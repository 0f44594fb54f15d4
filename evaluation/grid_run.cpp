#include "evaluation/grid_run.h"

#include <string>

namespace gearshift {

std::vector<std::optional<Trial>> run_grid(const Grid& grid, const RunCase& run_case,
                                           TrialFile* file, CaseWatch& watch, unsigned threads) {
  std::vector<std::optional<Trial>> trials(grid.size());
  std::vector<std::size_t> left;
  const CaseKeys keys(grid);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial* known = file == nullptr ? nullptr : file->find(keys.key(grid.at(i)));
    if (known != nullptr) {
      trials[i] = *known;
    } else {
      left.push_back(i);
    }
  }
  const std::size_t known = trials.size() - left.size();
  std::size_t done = known;
  const auto ended = [&](const std::vector<std::size_t>& numbers) {
    std::string lines;
    for (const std::size_t i : numbers) {
      if (file != nullptr) lines += format_trial(keys.key(grid.at(i)), *trials[i]) + '\n';
    }
    if (file != nullptr) file->append(lines);
    done += numbers.size();
    watch.progress(done, known, trials.size());
    return !watch.stopped();
  };
  run_cases(
      left, [&](std::size_t i) { trials[i] = run_case(grid.at(i)); }, ended, threads);
  return trials;
}

}  // namespace gearshift
