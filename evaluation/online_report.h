// Online learners side by side: how soon they find a good setting, and what they lose until then.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluation/comparison.h"
#include "evaluation/grid.h"
#include "evaluation/html_page.h"
#include "evaluation/online_row.h"

namespace gearshift {

// One policy on one workload under one problem, over all seeds. Medians; a seed that never got
// there counts as later than all others.
struct OnlineStanding {
  Case of;  // of its first row
  std::size_t rows = 0;
  std::size_t solvable = 0;
  double optimum_cost = 0;
  double reached = 0;  // infinite where half of the seeds or more never did
  double settled = 0;
  double late_regret = 0;  // infinite where there is none
  double cumulative_regret = 0;
  double over_cap = 0;
  std::size_t never_reached = 0;  // seeds
  std::size_t never_settled = 0;
  std::size_t failed = 0;  // rows where the script failed
};
// Rows in the order of the grid: those of one standing follow each other.
std::vector<OnlineStanding> summarise_online(std::span<const OnlineRow> rows);

// The other figure, where some cells are suspect: the same trials judged against all cells. Null
// where none is.
struct OnlineAllCells {
  std::span<const OnlineRow> rows;
  std::span<const OnlineStanding> standings;
};

ComparisonTable online_table(const Grid& grid, std::span<const OnlineStanding> standings);
ComparisonTable all_cells_table(const Grid& grid, std::span<const OnlineStanding> standings);

std::string online_text(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings,
                        const OnlineAllCells* all = nullptr);
// {"rows": [...], "summary": [...]}; docs/evaluation/learning.md lists the fields. Ends with a
// newline.
std::string online_json(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings,
                        const OnlineAllCells* all = nullptr);
// One HTML file with the table, and regret by measurement as pictures.
std::string online_html(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings, const Provenance& provenance,
                        const OnlineAllCells* all = nullptr);
// The fields of a JSON row.
std::string online_csv(const Grid& grid, std::span<const OnlineRow> rows,
                       const OnlineAllCells* all = nullptr);

}  // namespace gearshift
