#include "evaluation/optimum_table.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "controller/reference_search.h"

namespace gearshift {

OptimumTable::OptimumTable(const Profile& profile, std::vector<PowerMode> modes,
                           std::vector<bool> suspect)
    : profile_(&profile), modes_(std::move(modes)), suspect_(std::move(suspect)) {
  for (const std::int32_t batch_size : profile.batch_sizes()) {
    std::vector<const ProfileCell*> cells;
    for (const ProfileCell& cell : profile.cells()) {
      if (cell.batch_size == batch_size && cell.timed() && trusts(cell)) cells.push_back(&cell);
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

bool OptimumTable::trusts(const ProfileCell& cell) const {
  return suspect_.empty() || !suspect_[static_cast<std::size_t>(&cell - profile_->cells().data())];
}

Goal OptimumTable::judging_goal(const Problem& problem,
                                const std::optional<Setting>& reference) const {
  Goal goal = problem.goal;
  if (goal.objective != Objective::weighted || goal.has_reference()) return goal;
  const auto measure_against = [&](const ProfileCell& cell) {
    goal.reference_s = sample_s(cell);
    goal.reference_j = goal.reference_s * cell.power_w;
  };
  if (reference) {
    const ProfileCell* cell =
        profile_->find(reference->mode, reference->batch_size[index(problem.kind)]);
    if (cell != nullptr && cell->timed()) measure_against(*cell);
    return goal;
  }
  const std::int32_t smallest = profile_->batch_sizes().front();
  ReferenceSearch search(modes_.size());
  while (const auto place = search.next()) {
    const ProfileCell* cell = profile_->find(modes_[place->mode], smallest);
    if (cell == nullptr || !cell->timed() || !keeps_power(problem, *cell)) {
      search.failed();
      continue;
    }
    search.measured();
    measure_against(*cell);
  }
  return goal;
}

double OptimumTable::value(Kind kind, const Goal& goal, const ProfileCell& cell) const {
  const Problem problem{.kind = kind, .goal = goal};
  if (goal.objective == Objective::latency) {
    return arrival_ms(problem, cell.batch_size) + cell.minibatch_ms;
  }
  if (goal.objective != Objective::time) {
    return goal.cost(sample_s(cell), sample_s(cell) * cell.power_w);
  }
  const std::int32_t smallest = profile_->batch_sizes().front();
  return cell.batch_size == smallest ? cell.minibatch_ms
                                     : cell.minibatch_ms * smallest / cell.batch_size;
}

std::optional<BestCell> OptimumTable::best_of_all(const Problem& problem,
                                                  const std::optional<Setting>& reference) const {
  const Goal goal = judging_goal(problem, reference);
  std::optional<BestCell> best;
  for (const ProfileCell& cell : profile_->cells()) {
    if (!cell.timed() || !trusts(cell) || !keeps_power(problem, cell) ||
        !keeps_energy(problem, cell) || !keeps_pace(problem, cell)) {
      continue;
    }
    const double value = this->value(problem.kind, goal, cell);
    if (!best || std::tie(value, cell.power_w) < std::tie(best->value, best->cell->power_w)) {
      best = BestCell{.cell = &cell, .value = value};
    }
  }
  return best;
}

// Of one batch size the fastest cell within the power limit is the best, whatever the other limits:
// where it breaks them, so does every slower one.
std::optional<BestCell> OptimumTable::best(const Problem& problem,
                                           const std::optional<Setting>& reference) const {
  const bool fastest_is_best =
      (problem.goal.objective == Objective::time || problem.goal.objective == Objective::latency) &&
      !problem.goal.energy_j;
  if (!fastest_is_best) return best_of_all(problem, reference);
  std::optional<BestCell> best;
  for (const Staircase& staircase : staircases_) {
    const auto above =
        std::partition_point(staircase.steps.begin(), staircase.steps.end(),
                             [&](const Step& step) { return keeps_power(problem, *step.fastest); });
    if (above == staircase.steps.begin()) continue;
    const ProfileCell& cell = *std::prev(above)->fastest;
    if (!keeps_pace(problem, cell)) continue;
    const double value = this->value(problem.kind, problem.goal, cell);
    if (!best || std::tie(value, cell.power_w) < std::tie(best->value, best->cell->power_w)) {
      best = BestCell{.cell = &cell, .value = value};
    }
  }
  return best;
}

bool OptimumTable::binds(const Problem& problem, const std::optional<Setting>& reference) const {
  Problem unlimited = problem;
  unlimited.goal.power_mw.reset();
  const std::optional<BestCell> best = this->best(unlimited, reference);
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
