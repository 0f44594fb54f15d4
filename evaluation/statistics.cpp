#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluation/standings.h"

namespace gearshift {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  // Infinity less itself, or times nothing, is no number.
  if (position == std::floor(position) || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + (position - std::floor(position)) * (sorted[above] - sorted[below]);
}

Standing standing_of(std::span<const Row> rows, std::size_t policy,
                     std::optional<std::size_t> workload) {
  Standing standing{.policy = policy, .workload = workload};
  std::vector<const Row*> solvable;
  std::vector<const Row*> binding;
  for (const Row& row : rows) {
    if (row.of.policy != policy || (workload && row.of.workload != *workload)) continue;
    if (row.solvable) solvable.push_back(&row);
    if (row.binding) binding.push_back(&row);
    if (!row.solvable) ++standing.unsolvable;
    if (row.recognised) ++standing.recognised;
    standing.filled_nearest += row.trial.filled_nearest;
    standing.filled_model += row.trial.filled_model;
    standing.refused += row.trial.refused;
  }
  standing.solvable = score(solvable);
  standing.binding = score(binding);
  return standing;
}

}  // namespace

Distribution distribution(std::vector<double> values) {
  Distribution result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {.count = values.size(),
          .least = values.front(),
          .first_quartile = quantile(values, 0.25),
          .median = quantile(values, 0.5),
          .third_quartile = quantile(values, 0.75),
          .mean = sum / static_cast<double>(values.size()),
          .most = values.back()};
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::infinity();
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

Score score(std::span<const Row* const> rows) {
  Score score;
  std::vector<double> excess, over_w, modes, over_cap, over_cap_j, search_s, search_kj;
  for (const Row* row : rows) {
    ++score.rows;
    if (row->solved) {
      ++score.solved;
      excess.push_back(*row->excess);
    }
    if (row->over_w > 0) {
      ++score.over_budget;
      over_w.push_back(row->over_w);
    }
    if (row->late) ++score.late;
    if (row->over_energy) ++score.over_energy;
    if (row->over_w > 0 || row->late || row->over_energy) ++score.broken;
    if (row->trial.infeasible) ++score.gave_up;
    if (!row->trial.failure.empty()) ++score.failed;
    modes.push_back(row->trial.modes_profiled);
    over_cap.push_back(row->trial.probes_over_cap);
    over_cap_j.push_back(row->trial.over_cap_j);
    search_s.push_back(row->trial.search_s);
    search_kj.push_back(row->trial.search_j / 1e3);
  }
  score.excess = distribution(std::move(excess));
  score.over_w = distribution(std::move(over_w));
  score.modes_profiled = distribution(std::move(modes));
  score.probes_over_cap = distribution(std::move(over_cap));
  score.over_cap_j = distribution(std::move(over_cap_j));
  score.search_s = distribution(std::move(search_s));
  score.search_kj = distribution(std::move(search_kj));
  return score;
}

std::vector<Standing> summarise(const Grid& grid, std::span<const Row> rows) {
  return standings_of(grid, [&](std::size_t policy, std::optional<std::size_t> workload) {
    return standing_of(rows, policy, workload);
  });
}

}  // namespace gearshift
