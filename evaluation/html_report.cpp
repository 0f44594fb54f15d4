#include "evaluation/html_report.h"

#include <algorithm>

#include "evaluation/comparison.h"
#include "evaluation/figures.h"
#include "evaluation/script_failures.h"

namespace gearshift {
namespace {

std::string pictures(const Grid& grid, std::span<const Row> rows,
                     std::span<const Standing> standings) {
  std::string out =
      html_figures(grid, "Choices among all settings",
                   std::string("Grey points are all ") +
                       (grid.has_filled() ? "settings, filled ones too" : "measured settings") +
                       ", and a grey line the fastest at each power. A marker is a setting that a "
                       "policy held in "
                       "a solvable problem.",
                   [&](std::size_t workload) { return svg(choices_chart(grid, rows, workload)); });
  const bool limited =
      std::any_of(grid.problems.begin(), grid.problems.end(),
                  [](const Problem& problem) { return problem.goal.power_mw.has_value(); });
  if (limited) {
    out += html_figures(
        grid, "Excess over the optimum by power limit",
        "The median over the solved problems of each limit; lower is better. Where a line "
        "is missing, "
        "the policy solved none. Small values have more room.",
        [&](std::size_t workload) { return svg(excess_chart(grid, rows, workload)); });
  }
  out += html_figures(
      grid, "Violations",
      "How often the setting held at the end breaks a limit: it draws more power than "
      "allowed, spends more energy on a sample or, for "
      "inference, falls behind its requests or answers too late.",
      [&](std::size_t workload) { return svg(violations_chart(grid, standings, workload)); });
  out += html_figures(
      grid, "Settings measured",
      "Distinct settings a search measured: a line from the least to the most, a bar between the "
      "quartiles, a stroke at the median, the mean as a number.",
      [&](std::size_t workload) { return svg(modes_chart(grid, standings, workload)); });
  return out;
}

}  // namespace

std::string html_report(const Grid& grid, std::span<const Row> rows,
                        std::span<const Standing> standings, const Provenance& provenance,
                        const AllCells* all) {
  std::string out = html_head("How far from the optimum is each policy?") + "<p>";
  out += count_of(grid.policies.size(), "policy", "policies") + " on " +
         count_of(grid.workloads.size(), "workload", "workloads") + ", " +
         count_of(grid.problems.size(), "problem", "problems") + " each, " +
         count_of(grid.seeds.size(), "seed", "seeds") + ": " +
         count_of(rows.size(), "row", "rows") + ". The optimum is exhaustive over " +
         (grid.has_filled() ? "all settings, filled ones too" : "the measured settings") +
         "; every choice is judged on what its setting truly costs.</p>\n";
  out += html_table(grid, quality_table(grid, standings, Rows::solvable));
  out += html_lines(failure_lines(grid, rows));
  out +=
      "<p class=\"faint\">Solved: what is held keeps the limits, be it the safe setting of a "
      "search "
      "that chose none. Excess is chosen / optimum - 1 over the solved problems. Over: the setting "
      "held draws more than the limit, by so many watts (mean and most). Over energy: it is over "
      "the "
      "limit of a sample's energy.</p>\n";
  if (all != nullptr) out += html_table(grid, all_cells_table(grid, all->standings));
  out += pictures(grid, rows, standings);
  out += html_table(grid, quality_table(grid, standings, Rows::binding));
  out += html_table(grid, cost_table(grid, standings));
  out +=
      "<p class=\"faint\">Modes: distinct settings measured. Over cap: of them, those that draw "
      "more than the limit. Over Ws: watt-seconds above it. Search: simulated time and energy "
      "until the choice was held.</p>\n";
  out += html_table(grid, unsolvable_table(grid, standings));
  out += html_table(grid, gaps_table(grid, standings));
  return out + html_end(grid, provenance);
}

}  // namespace gearshift
