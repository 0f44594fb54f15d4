// Of scripts that failed. Their rows are judged all the same, by the safe setting that was held, so
// every report tells of them beside its figures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/grid.h"

namespace gearshift {

// Of one policy, over all of its rows.
struct ScriptFailures {
  std::size_t rows = 0;
  std::size_t failed = 0;
  std::string first;  // message, with the calls below it

  // What the script of one more row died of; empty where it did not.
  void add(std::string_view failure);
  // "bayes failed in 2 of 5 rows"
  std::string count_text(const std::string& policy) const;
  // "bayes failed in 2 of 5 rows: bayes.lua:7: no idea": the calls have no room in a table.
  std::string line(const std::string& policy) const;
};

// A line for each policy whose script failed, in the order of the grid. `rows` are those of any
// kind of problem.
template <typename Rows>
std::vector<std::string> failure_lines(const Grid& grid, const Rows& rows) {
  std::vector<ScriptFailures> failures(grid.policies.size());
  for (const auto& row : rows) failures[row.of.policy].add(row.trial.failure);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].failed > 0) lines.push_back(failures[i].line(grid.policies[i].name));
  }
  return lines;
}

// For a terminal: each line with its end.
std::string text_of(const std::vector<std::string>& lines);

}  // namespace gearshift
