// One HTML file with every table and picture of an evaluation: no script, nothing fetched.
#pragma once

#include <span>
#include <string>

#include "evaluation/grid.h"
#include "evaluation/row.h"
#include "evaluation/statistics.h"

namespace gearshift {

// How the results were made, in words of whoever made them.
struct Provenance {
  std::string command;
  std::string version;
  std::string date;
  std::string conditions;  // effects, limits of a search, priors
};

std::string html_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const Provenance& provenance);

}  // namespace gearshift
