// Results as tables: JSON and CSV with one entry a row, and text that compares the policies.
#pragma once

#include <span>
#include <string>

#include "evaluation/grid.h"
#include "evaluation/row.h"
#include "evaluation/statistics.h"

namespace gearshift {

// `all` is null where no cell is suspect.
// {"rows": [...], "summary": {...}}; docs/evaluation.md lists the fields. Ends with a newline.
std::string json_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const AllCells* all = nullptr);
// The fields of a JSON row, and what was held: its knobs, its batch size, the search's time and
// energy.
std::string csv_report(const Grid& grid, std::span<const Row> rows, const AllCells* all = nullptr);
// For a terminal of 100 columns.
std::string text_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const AllCells* all = nullptr);

}  // namespace gearshift
