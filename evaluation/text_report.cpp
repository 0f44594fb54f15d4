#include "evaluation/comparison.h"
#include "evaluation/script_failures.h"
#include "evaluation/table_report.h"

namespace gearshift {

std::string text_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const AllCells* all) {
  std::string text = text_of(quality_table(grid, standings, Rows::solvable));
  text += text_of(failure_lines(grid, rows));
  if (all != nullptr) text += '\n' + text_of(all_cells_table(grid, all->standings));
  text += '\n' + text_of(quality_table(grid, standings, Rows::binding));
  text += '\n' + text_of(cost_table(grid, standings));
  const ComparisonTable unsolvable = unsolvable_table(grid, standings);
  if (!unsolvable.lines.empty()) text += '\n' + text_of(unsolvable);
  const ComparisonTable gaps = gaps_table(grid, standings);
  if (!gaps.lines.empty()) text += '\n' + text_of(gaps);
  return text;
}

}  // namespace gearshift
