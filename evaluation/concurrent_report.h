// Policies side by side on training beside inference, as tables and as JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "evaluation/comparison.h"
#include "evaluation/concurrent_row.h"
#include "evaluation/html_page.h"

namespace gearshift {

// The same trials judged twice: against the cells that are not suspect, and against all.
struct ConcurrentResults {
  std::vector<ConcurrentRow> rows;
  std::vector<ConcurrentStanding> standings;
};

// `all` is null where no cell is suspect.
std::string concurrent_text(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all);
// {"rows": [...], "summary": {...}}; docs/evaluation/beside-inference.md lists the fields. Ends
// with a newline.
std::string concurrent_json(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all);
// The fields of a JSON row.
std::string concurrent_csv(const Grid& grid, const ConcurrentResults& results,
                           const ConcurrentResults* all);
// One HTML file with the tables, and loss by power limit as pictures.
std::string concurrent_html(const Grid& grid, const ConcurrentResults& results,
                            const ConcurrentResults* all, const Provenance& provenance);

}  // namespace gearshift
