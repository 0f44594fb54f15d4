#include "evaluation/comparison.h"

#include <algorithm>

#include "evaluation/number_text.h"

namespace gearshift {
namespace {

// Policy and workload, or "all" of them.
std::vector<std::string> names_of(const Grid& grid, const Standing& standing) {
  return {grid.policies[standing.policy].name,
          standing.workload ? grid.workloads[*standing.workload].name : std::string("all")};
}

bool has_inference(const Grid& grid) {
  for (const Problem& problem : grid.problems) {
    if (problem.kind == Kind::infer) return true;
  }
  return false;
}

bool has_energy_limit(const Grid& grid) {
  for (const Problem& problem : grid.problems) {
    if (problem.goal.energy_j) return true;
  }
  return false;
}

}  // namespace

ComparisonTable quality_table(const Grid& grid, std::span<const Standing> standings, Rows rows) {
  const bool infer = has_inference(grid);
  const bool saves = has_energy_limit(grid);
  const auto score_of = [rows](const Standing& standing) -> const Score& {
    return rows == Rows::solvable ? standing.solvable : standing.binding;
  };
  const auto in_some = [&](std::size_t Score::*count) {
    return std::any_of(standings.begin(), standings.end(),
                       [&](const Standing& standing) { return score_of(standing).*count > 0; });
  };
  const bool failed = in_some(&Score::failed), gave_up = in_some(&Score::gave_up);
  ComparisonTable table;
  table.title = rows == Rows::solvable
                    ? "All solvable problems"
                    : "Problems whose power limit excludes the setting that is best without it";
  table.columns = {"policy", "workload", "problems", "solved %"};
  if (failed) table.columns.push_back("failed %");
  if (gave_up) table.columns.push_back("infeasible %");
  table.columns.insert(table.columns.end(),
                       {"median %", "quartiles %", "mean %", "worst %", "over %", "over W"});
  if (infer) table.columns.push_back("late %");
  if (saves) table.columns.push_back("over energy %");
  for (const Standing& standing : standings) {
    const Score& score = score_of(standing);
    const Distribution& excess = score.excess;
    const bool some = excess.count > 0;
    std::vector<std::string> line = names_of(grid, standing);
    line.push_back(std::to_string(score.rows));
    line.push_back(share_text(score.solved, score.rows));
    if (failed) line.push_back(share_text(score.failed, score.rows));
    if (gave_up) line.push_back(share_text(score.gave_up, score.rows));
    line.push_back(some ? percent(excess.median) : "-");
    line.push_back(some ? percent(excess.first_quartile) + " to " + percent(excess.third_quartile)
                        : "-");
    line.push_back(some ? percent(excess.mean) : "-");
    line.push_back(some ? percent(excess.most) : "-");
    line.push_back(share_text(score.over_budget, score.rows));
    line.push_back(score.over_budget == 0
                       ? "-"
                       : fixed(score.over_w.mean, 1) + ", most " + fixed(score.over_w.most, 1));
    if (infer) line.push_back(share_text(score.late, score.rows));
    if (saves) line.push_back(share_text(score.over_energy, score.rows));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ComparisonTable all_cells_table(const Grid& grid, std::span<const Standing> standings) {
  ComparisonTable table = quality_table(grid, standings, Rows::solvable);
  table.title = "The same, judged against the optimum over all cells, the suspect ones too";
  return table;
}

ComparisonTable cost_table(const Grid& grid, std::span<const Standing> standings) {
  ComparisonTable table;
  table.title = "What the searches cost, over all solvable problems";
  table.columns = {"policy",        "workload",     "modes mean",   "modes most", "over cap mean",
                   "over cap most", "over Ws mean", "over Ws most", "search s",   "search kJ"};
  for (const Standing& standing : standings) {
    const Score& score = standing.solvable;
    std::vector<std::string> line = names_of(grid, standing);
    line.push_back(fixed(score.modes_profiled.mean, 1));
    line.push_back(fixed(score.modes_profiled.most, 0));
    line.push_back(fixed(score.probes_over_cap.mean, 1));
    line.push_back(fixed(score.probes_over_cap.most, 0));
    line.push_back(fixed(score.over_cap_j.mean, 1));
    line.push_back(fixed(score.over_cap_j.most, 1));
    line.push_back(fixed(score.search_s.mean, 1));
    line.push_back(fixed(score.search_kj.mean, 2));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ComparisonTable unsolvable_table(const Grid& grid, std::span<const Standing> standings) {
  ComparisonTable table;
  table.title =
      "Problems that no setting solves, counted apart: ended as infeasible in the safe mode";
  table.columns = {"policy", "workload", "problems", "infeasible %"};
  for (const Standing& standing : standings) {
    if (standing.unsolvable == 0) continue;
    std::vector<std::string> line = names_of(grid, standing);
    line.push_back(std::to_string(standing.unsolvable));
    line.push_back(share_text(standing.recognised, standing.unsolvable));
    table.lines.push_back(std::move(line));
  }
  return table;
}

ComparisonTable gaps_table(const Grid& grid, std::span<const Standing> standings) {
  ComparisonTable table;
  const bool refused = std::any_of(standings.begin(), standings.end(),
                                   [](const Standing& one) { return one.refused > 0; });
  table.title = "Settings tried that have no measured cell";
  if (refused) table.title += "; --missing nearest fills those that were refused";
  table.columns = {"policy", "workload", "nearest cell", "model", "refused"};
  for (const Standing& standing : standings) {
    if (standing.filled_nearest + standing.filled_model + standing.refused == 0) continue;
    std::vector<std::string> line = names_of(grid, standing);
    line.push_back(std::to_string(standing.filled_nearest));
    line.push_back(std::to_string(standing.filled_model));
    line.push_back(std::to_string(standing.refused));
    table.lines.push_back(std::move(line));
  }
  return table;
}

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

}  // namespace gearshift
