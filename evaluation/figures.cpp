#include "evaluation/figures.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "evaluation/number_text.h"

namespace gearshift {
namespace {

struct Extent {
  double low = 1e300;
  double high = -1e300;

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string note_of(const Grid& grid, const Row& row, const ProfileCell& cell) {
  const Profile& profile = grid.workloads[row.of.workload].optimum.profile();
  return grid.policies[row.of.policy].name + ": " + profile.knobs().describe(cell.mode) +
         " batch " + std::to_string(cell.batch_size) + ", " + fixed(cell.power_w, 2) + " W, " +
         fixed(cell.minibatch_ms, 2) + " ms";
}

// The cells that no other cell of their batch size beats in both power and time.
std::vector<std::vector<ChartPoint>> fronts_of(const OptimumTable& table) {
  std::vector<std::vector<ChartPoint>> fronts;
  for (const std::vector<const ProfileCell*>& cells : table.fronts()) {
    std::vector<ChartPoint> front;
    for (const ProfileCell* cell : cells) front.push_back({cell->power_w, cell->minibatch_ms, ""});
    fronts.push_back(std::move(front));
  }
  return fronts;
}

// The settings that one policy held, each once.
std::vector<ChartPoint> choices_of(const Grid& grid, std::span<const Row> rows, std::size_t policy,
                                   std::size_t workload) {
  std::set<const ProfileCell*> seen;
  std::vector<ChartPoint> points;
  for (const Row& row : rows) {
    if (row.of.policy != policy || row.of.workload != workload || !row.solvable) continue;
    const ProfileCell* cell = held_cell(grid, row);
    if (cell == nullptr || !cell->timed() || !seen.insert(cell).second) continue;
    points.push_back({cell->power_w, cell->minibatch_ms, note_of(grid, row, *cell)});
  }
  return points;
}

std::optional<double> cap_w_of(const Problem& problem) {
  if (!problem.goal.power_mw) return std::nullopt;
  return static_cast<double>(*problem.goal.power_mw) / 1e3;
}

// Median excess in percent by power limit; limits under which nothing was solved are left out.
std::vector<ChartPoint> excess_of(const Grid& grid, std::span<const Row> rows, std::size_t policy,
                                  std::size_t workload) {
  std::map<double, std::vector<double>> by_cap;
  for (const Row& row : rows) {
    if (row.of.policy != policy || row.of.workload != workload || !row.solved) continue;
    const auto cap_w = cap_w_of(grid.problems[row.of.problem]);
    if (cap_w) by_cap[*cap_w].push_back(100 * *row.excess);
  }
  std::vector<ChartPoint> points;
  for (auto& [cap_w, excess] : by_cap) {
    const double median = distribution(std::move(excess)).median;
    points.push_back(
        {cap_w, median,
         grid.policies[policy].name + ": " + fixed(median, 2) + " % at " + exact(cap_w) + " W"});
  }
  return points;
}

const Standing* find_standing(std::span<const Standing> standings, std::size_t policy,
                              std::size_t workload) {
  for (const Standing& standing : standings) {
    if (standing.policy == policy && standing.workload == workload) return &standing;
  }
  return nullptr;
}

}  // namespace

double widest_step_w(const Grid& grid) {
  std::set<double> caps;
  for (const Problem& problem : grid.problems) {
    if (const auto cap_w = cap_w_of(problem)) caps.insert(*cap_w);
  }
  double widest = 0;
  for (auto cap = caps.begin(); cap != caps.end() && std::next(cap) != caps.end(); ++cap) {
    widest = std::max(widest, *std::next(cap) - *cap);
  }
  return 1.01 * widest;
}

Chart choices_chart(const Grid& grid, std::span<const Row> rows, std::size_t workload) {
  const Target& target = grid.workloads[workload];
  Extent power_w;
  Extent minibatch_ms;
  std::vector<ChartPoint> cells;
  for (const ProfileCell& cell : target.optimum.profile().cells()) {
    if (!cell.timed()) continue;
    cells.push_back({cell.power_w, cell.minibatch_ms, ""});
    power_w.include(cell.power_w);
    minibatch_ms.include(cell.minibatch_ms);
  }
  const std::size_t settings = cells.size();
  Chart chart{.description = target.name + ": power and minibatch time of " +
                             settings_text(target, settings) +
                             ", and the settings that policies held",
              .x = Axis("power, W", Spacing::linear, power_w.low, power_w.high),
              .y = Axis("minibatch, ms", Spacing::logarithmic, minibatch_ms.low, minibatch_ms.high),
              .cloud = std::move(cells),
              .fronts = fronts_of(target.optimum),
              .series = {}};
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    chart.series.push_back({.series = policy, .points = choices_of(grid, rows, policy, workload)});
  }
  // Few markers lie on top of many.
  std::stable_sort(
      chart.series.begin(), chart.series.end(),
      [](const ChartSeries& a, const ChartSeries& b) { return a.points.size() > b.points.size(); });
  return chart;
}

Chart excess_chart(const Grid& grid, std::span<const Row> rows, std::size_t workload) {
  Extent cap_w;
  double highest = 1;
  std::vector<ChartSeries> series;
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    ChartSeries one{.series = policy,
                    .points = excess_of(grid, rows, policy, workload),
                    .joined = true,
                    .widest_step = widest_step_w(grid)};
    for (const ChartPoint& point : one.points) {
      cap_w.include(point.x);
      highest = std::max(highest, point.y);
    }
    series.push_back(std::move(one));
  }
  if (cap_w.low > cap_w.high) cap_w = {0, 1};
  return {.description =
              grid.workloads[workload].name + ": median excess over the optimum by power limit",
          .x = Axis("power limit, W", Spacing::linear, cap_w.low, cap_w.high),
          .y = Axis("excess over the optimum, %", Spacing::root, 0, highest),
          .cloud = {},
          .fronts = {},
          .series = std::move(series)};
}

RangeChart violations_chart(const Grid& grid, std::span<const Standing> standings,
                            std::size_t workload) {
  RangeChart chart{.description = grid.workloads[workload].name +
                                  ": share of solvable problems that end with a limit broken",
                   .x = Axis("a limit is broken, % of solvable", Spacing::linear, 0, 100),
                   .ranges = {}};
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    const Standing* standing = find_standing(standings, policy, workload);
    if (standing == nullptr || standing->solvable.rows == 0) continue;
    const Score& score = standing->solvable;
    const double share = static_cast<double>(score.broken) / static_cast<double>(score.rows);
    std::string value = percent(share) + " %";
    if (score.broken == 0) value = "none";
    chart.ranges.push_back({.series = policy,
                            .name = grid.policies[policy].name,
                            .value = std::move(value),
                            .middle = 100 * share});
  }
  return chart;
}

RangeChart modes_chart(const Grid& grid, std::span<const Standing> standings,
                       std::size_t workload) {
  RangeChart chart{
      .description = grid.workloads[workload].name + ": distinct settings measured in a search",
      .x = Axis("", Spacing::root, 0, 1),
      .ranges = {},
      .whiskers = true};
  double most = 1;
  for (std::size_t policy = 0; policy < grid.policies.size(); ++policy) {
    const Standing* standing = find_standing(standings, policy, workload);
    if (standing == nullptr || standing->solvable.rows == 0) continue;
    const Distribution& modes = standing->solvable.modes_profiled;
    most = std::max(most, modes.most);
    chart.ranges.push_back({.series = policy,
                            .name = grid.policies[policy].name,
                            .value = fixed(modes.mean, 1),
                            .least = modes.least,
                            .first_quartile = modes.first_quartile,
                            .middle = modes.median,
                            .third_quartile = modes.third_quartile,
                            .most = modes.most});
  }
  chart.x = Axis("settings measured in a search", Spacing::root, 0, most);
  return chart;
}

}  // namespace gearshift
