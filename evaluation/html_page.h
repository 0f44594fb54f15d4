// The parts that every HTML report is made of: one file, no script, nothing fetched.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evaluation/comparison.h"
#include "evaluation/grid.h"

namespace gearshift {

// How the results were made, in words of whoever made them.
struct Provenance {
  std::string command;
  std::string version;
  std::string date;
  std::string conditions;  // effects, limits of a search, priors
};

// From the beginning of the file to its heading.
std::string html_head(const std::string& heading);
// Nothing where the table has no lines. Its first column names a policy.
std::string html_table(const Grid& grid, const ComparisonTable& table);
// A paragraph each; their text is escaped.
std::string html_lines(const std::vector<std::string>& lines);
// A legend of the policies, and a figure a workload: `draw` gives the picture of the workload with
// an index, as SVG.
std::string html_figures(const Grid& grid, const std::string& title, const std::string& text,
                         const std::function<std::string(std::size_t)>& draw);
// How it was made, and the end of the file.
std::string html_end(const Grid& grid, const Provenance& provenance);

// "1 row", "2 rows"
std::string count_of(std::size_t count, const std::string& one, const std::string& many);

}  // namespace gearshift
