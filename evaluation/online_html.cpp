#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "evaluation/chart.h"
#include "evaluation/number_text.h"
#include "evaluation/online_report.h"
#include "evaluation/script_failures.h"
#include "evaluation/statistics.h"

namespace gearshift {
namespace {

// Ends of the stretches of measurements that a picture has a point for: 1, 2, 5, 10, 20, ...
std::vector<std::size_t> stretches(std::size_t measurements) {
  std::vector<std::size_t> ends;
  for (std::size_t decade = 1; decade <= measurements; decade *= 10) {
    for (const std::size_t end : {decade, 2 * decade, 5 * decade}) {
      if (end <= measurements) ends.push_back(end);
    }
  }
  if (!ends.empty() && ends.back() < measurements) ends.push_back(measurements);
  return ends;
}

// Over all weights, limits and seeds the median of the mean regret of each stretch, %.
std::vector<ChartPoint> regret_of(const Grid& grid, std::span<const OnlineRow> rows,
                                  std::size_t policy, std::size_t workload) {
  std::vector<const OnlineRow*> own;
  for (const OnlineRow& row : rows) {
    if (row.of.policy == policy && row.of.workload == workload && row.optimum != nullptr) {
      own.push_back(&row);
    }
  }
  if (own.empty()) return {};
  std::vector<ChartPoint> points;
  std::size_t begin = 0;
  for (const std::size_t end : stretches(own.front()->regret.size())) {
    std::vector<double> means;
    for (const OnlineRow* row : own) {
      const auto stretch = std::span<const double>(row->regret).subspan(begin, end - begin);
      means.push_back(std::accumulate(stretch.begin(), stretch.end(), 0.0) /
                      static_cast<double>(stretch.size()));
    }
    const double percent = 100 * median(std::move(means));
    begin = end;
    if (!std::isfinite(percent)) continue;
    points.push_back({static_cast<double>(end), percent,
                      grid.policies[policy].name + ": " + fixed(percent, 2) +
                          " % up to measurement " + std::to_string(end)});
  }
  return points;
}

Chart regret_chart(const Grid& grid, std::span<const OnlineRow> rows, std::size_t workload) {
  double most = 1;
  double last = 2;
  std::vector<ChartSeries> series;
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    ChartSeries one{.series = policy,
                    .points = regret_of(grid, rows, policy, workload),
                    .joined = true,
                    .widest_step = 1e9};
    for (const ChartPoint& point : one.points) {
      most = std::max(most, point.y);
      last = std::max(last, point.x);
    }
    series.push_back(std::move(one));
  }
  return {.description = "Regret by measurement of " + grid.workloads[workload].name,
          .x = Axis("measurement", Spacing::logarithmic, 1, last),
          .y = Axis("regret, %", Spacing::root, 0, most),
          .cloud = {},
          .fronts = {},
          .series = std::move(series)};
}

}  // namespace

std::string online_html(const Grid& grid, std::span<const OnlineRow> rows,
                        std::span<const OnlineStanding> standings, const Provenance& provenance,
                        const OnlineAllCells* all) {
  std::string out = html_head("What does each policy lose while it learns?") + "<p>";
  out += count_of(grid.policies.size(), "policy", "policies") + " on " +
         count_of(grid.workloads.size(), "workload", "workloads") + ", " +
         count_of(grid.problems.size(), "problem", "problems") + " each, " +
         count_of(grid.seeds.size(), "seed", "seeds") +
         ". The weighted cost of a sample is 1 in the highest setting. Regret is the true cost of "
         "what was measured over that of the best setting, less 1.</p>\n";
  out += html_table(grid, online_table(grid, standings));
  out += html_lines(failure_lines(grid, rows));
  if (all != nullptr) out += html_table(grid, all_cells_table(grid, all->standings));
  out +=
      "<p class=\"faint\">Reached: the first measurement within 3 % of the optimum. Settled: from "
      "it on every 20 in a row are, in the mean; unsettled: seeds that never are. Late: mean "
      "regret behind the first 100. Cumulative: the sum of all regrets, in optimal samples' "
      "costs.</p>\n";
  out +=
      html_figures(grid, "Regret by measurement",
                   "The mean of each stretch of measurements, and of these the median over all "
                   "problems and seeds; lower is better. Small values have more room.",
                   [&](std::size_t workload) { return svg(regret_chart(grid, rows, workload)); });
  return out + html_end(grid, provenance);
}

}  // namespace gearshift
