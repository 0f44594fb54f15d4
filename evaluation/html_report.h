// One HTML file with every table and picture of an evaluation: no script, nothing fetched.
#pragma once

#include <span>
#include <string>

#include "evaluation/grid.h"
#include "evaluation/html_page.h"
#include "evaluation/row.h"
#include "evaluation/statistics.h"

namespace gearshift {

std::string html_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const Provenance& provenance,
                        const AllCells* all = nullptr);

}  // namespace gearshift
