#include "evaluation/concurrent_row.h"

#include <algorithm>

#include "evaluation/standings.h"

namespace gearshift {
namespace {

ConcurrentFigure figure_of(const Problem& problem, const ConcurrentTable& table,
                           const ConcurrentCell& held, Throughput of, bool suspects_too) {
  ConcurrentFigure figure;
  figure.chosen = throughput(problem, held, of);
  const ConcurrentCell* best = table.best(problem, of, suspects_too);
  if (best == nullptr) return figure;
  figure.optimum = throughput(problem, *best, of);
  if (figure.optimum > 0) figure.loss = std::max(0.0, 1 - figure.chosen / figure.optimum);
  return figure;
}

ConcurrentStanding standing_of(std::span<const ConcurrentRow> rows, std::size_t policy,
                               std::optional<std::size_t> workload) {
  ConcurrentStanding standing{.policy = policy, .workload = workload};
  std::vector<double> second, window, modes, power_modes, over_cap, search_s;
  for (const ConcurrentRow& row : rows) {
    if (row.of.policy != policy || (workload && row.of.workload != *workload)) continue;
    const bool failed = !row.trial.failure.empty();
    if (failed) ++standing.failed;
    if (!row.solvable) {
      ++standing.unsolvable;
      if (row.recognised) ++standing.recognised;
      continue;
    }
    ++standing.solvable;
    if (failed) ++standing.failed_solvable;
    if (row.trial.infeasible) ++standing.gave_up;
    if (row.too_short) ++standing.too_short;
    if (row.over_w > 0) ++standing.over_budget;
    standing.most_over_w = std::max(standing.most_over_w, row.over_w);
    if (row.late) ++standing.late;
    modes.push_back(row.trial.modes_profiled);
    power_modes.push_back(row.trial.power_modes);
    over_cap.push_back(row.trial.probes_over_cap);
    search_s.push_back(row.trial.search_s);
    if (!row.solved) continue;
    ++standing.solved;
    second.push_back(row.second.loss);
    window.push_back(row.window.loss);
  }
  standing.loss_second = distribution(std::move(second));
  standing.loss_window = distribution(std::move(window));
  standing.modes_profiled = distribution(std::move(modes));
  standing.power_modes = distribution(std::move(power_modes));
  standing.probes_over_cap = distribution(std::move(over_cap));
  standing.search_s = distribution(std::move(search_s));
  return standing;
}

}  // namespace

ConcurrentRow judge_concurrent(const Grid& grid, const ConcurrentTable& table, const Case& one,
                               const Trial& trial, bool suspects_too) {
  const Problem& problem = grid.problems[one.problem];
  ConcurrentRow row;
  row.of = one;
  row.trial = trial;
  row.best = table.best(problem, Throughput::second, suspects_too);
  row.solvable = row.best != nullptr;
  row.too_short = row.solvable && throughput(problem, *row.best, Throughput::window) == 0;
  row.recognised = !row.solvable && trial.infeasible;
  const ConcurrentCell* held =
      table.find(trial.held.mode, trial.held.batch_size[index(Kind::infer)]);
  if (held == nullptr) return row;
  row.power_w = held->power_w();
  if (problem.goal.power_mw) {
    row.over_w = std::max(0.0, *row.power_w - static_cast<double>(*problem.goal.power_mw) / 1e3);
  }
  row.late = !keeps_pace(problem, *held->infer);
  row.solved = row.solvable && keeps(problem, *held);
  row.second = figure_of(problem, table, *held, Throughput::second, suspects_too);
  row.window = figure_of(problem, table, *held, Throughput::window, suspects_too);
  return row;
}

std::vector<ConcurrentStanding> summarise_concurrent(const Grid& grid,
                                                     std::span<const ConcurrentRow> rows) {
  return standings_of(grid, [&](std::size_t policy, std::optional<std::size_t> workload) {
    return standing_of(rows, policy, workload);
  });
}

}  // namespace gearshift
