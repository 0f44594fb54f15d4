// The tables that compare policies, as cells of text: what the terminal and the HTML report show.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/grid.h"
#include "evaluation/statistics.h"

namespace gearshift {

// The first two columns are names, the others numbers.
struct ComparisonTable {
  std::string title;
  std::vector<std::string_view> columns;
  std::vector<std::vector<std::string>> lines;
};

// For a terminal: names to the left, numbers to the right, two blanks between columns.
std::string text_of(const ComparisonTable& table);

enum class Rows : std::uint8_t { solvable, binding };
// Solved share, excess and violations; and the shares of rows whose script failed, and that ended
// as infeasible, where one did.
ComparisonTable quality_table(const Grid& grid, std::span<const Standing> standings, Rows rows);
// The same of all solvable problems, where `standings` were judged against all cells and others
// were not.
ComparisonTable all_cells_table(const Grid& grid, std::span<const Standing> standings);
// What the searches cost.
ComparisonTable cost_table(const Grid& grid, std::span<const Standing> standings);
// Problems that no setting solves. No lines where there is none.
ComparisonTable unsolvable_table(const Grid& grid, std::span<const Standing> standings);
// Settings without a measured cell. No lines where none was tried.
ComparisonTable gaps_table(const Grid& grid, std::span<const Standing> standings);

}  // namespace gearshift
