#include "evaluation/optimum_table.h"

#include <algorithm>
#include <tuple>

namespace gearshift {

OptimumTable::OptimumTable(const Profile& profile) : profile_(&profile) {
  for (const std::int32_t batch_size : profile.batch_sizes()) {
    std::vector<const ProfileCell*> cells;
    for (const ProfileCell& cell : profile.cells()) {
      if (cell.batch_size == batch_size && cell.timed()) cells.push_back(&cell);
    }
    std::stable_sort(cells.begin(), cells.end(), [](const ProfileCell* a, const ProfileCell* b) {
      return std::tie(a->power_w, a->minibatch_ms) < std::tie(b->power_w, b->minibatch_ms);
    });
    Staircase staircase{.batch_size = batch_size, .steps = {}};
    for (const ProfileCell* cell : cells) {
      std::vector<Step>& steps = staircase.steps;
      if (!steps.empty() && steps.back().fastest->minibatch_ms <= cell->minibatch_ms) continue;
      steps.push_back({.power_w = cell->power_w, .fastest = cell});
    }
    staircases_.push_back(std::move(staircase));
  }
}

double OptimumTable::value_ms(const Problem& problem, const ProfileCell& cell) const {
  if (problem.goal.objective == Objective::latency) {
    return arrival_ms(problem, cell.batch_size) + cell.minibatch_ms;
  }
  const std::int32_t smallest = profile_->batch_sizes().front();
  return cell.batch_size == smallest ? cell.minibatch_ms
                                     : cell.minibatch_ms * smallest / cell.batch_size;
}

// Of one batch size the fastest cell within the power limit is the best, whatever the other limits:
// where it breaks them, so does every slower one.
std::optional<BestCell> OptimumTable::best(const Problem& problem) const {
  std::optional<BestCell> best;
  for (const Staircase& staircase : staircases_) {
    const auto above =
        std::partition_point(staircase.steps.begin(), staircase.steps.end(),
                             [&](const Step& step) { return keeps_power(problem, *step.fastest); });
    if (above == staircase.steps.begin()) continue;
    const ProfileCell& cell = *std::prev(above)->fastest;
    if (!keeps_pace(problem, cell)) continue;
    const double value = value_ms(problem, cell);
    if (!best || std::tie(value, cell.power_w) < std::tie(best->value_ms, best->cell->power_w)) {
      best = BestCell{.cell = &cell, .value_ms = value};
    }
  }
  return best;
}

bool OptimumTable::binds(const Problem& problem) const {
  Problem unlimited = problem;
  unlimited.goal.power_mw.reset();
  const std::optional<BestCell> best = this->best(unlimited);
  return best && !keeps_power(problem, *best->cell);
}

std::vector<std::vector<const ProfileCell*>> OptimumTable::fronts() const {
  std::vector<std::vector<const ProfileCell*>> fronts;
  for (const Staircase& staircase : staircases_) {
    std::vector<const ProfileCell*>& front = fronts.emplace_back();
    for (const Step& step : staircase.steps) front.push_back(step.fastest);
  }
  return fronts;
}

}  // namespace gearshift
