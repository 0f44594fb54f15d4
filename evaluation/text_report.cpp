#include <algorithm>

#include "evaluation/comparison.h"
#include "evaluation/table_report.h"

namespace gearshift {
namespace {

// Names to the left, numbers to the right, two blanks between columns.
std::string text_of(const ComparisonTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string_view column : table.columns) widths.push_back(column.size());
  for (const auto& line : table.lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text = table.title + '\n';
  const auto append = [&](std::size_t column, std::string_view cell) {
    const std::string blanks(widths[column] - cell.size(), ' ');
    const bool last = column + 1 == widths.size();
    text += column == 0 ? "" : "  ";
    text += column < 2 ? std::string(cell) + (last ? "" : blanks) : blanks + std::string(cell);
    if (last) text += '\n';
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i) append(i, table.columns[i]);
  for (const auto& line : table.lines) {
    for (std::size_t i = 0; i < line.size(); ++i) append(i, line[i]);
  }
  return text;
}

}  // namespace

std::string text_report(const Grid& grid, std::span<const Standing> standings) {
  std::string text = text_of(quality_table(grid, standings, Rows::solvable));
  text += '\n' + text_of(quality_table(grid, standings, Rows::binding));
  text += '\n' + text_of(cost_table(grid, standings));
  const ComparisonTable unsolvable = unsolvable_table(grid, standings);
  if (!unsolvable.lines.empty()) text += '\n' + text_of(unsolvable);
  const ComparisonTable gaps = gaps_table(grid, standings);
  if (!gaps.lines.empty()) text += '\n' + text_of(gaps);
  return text;
}

}  // namespace gearshift
