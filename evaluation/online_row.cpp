#include "evaluation/online_row.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "evaluation/row.h"

namespace gearshift {
namespace {

constexpr double kNoCell = std::numeric_limits<double>::infinity();

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Sums are taken afresh: a running sum would carry the rounding of all before.
std::optional<std::uint32_t> settled_from(std::span<const double> regret) {
  if (regret.size() < kSettledWindow) return std::nullopt;
  std::optional<std::uint32_t> from;
  for (std::size_t i = regret.size() - kSettledWindow + 1; i-- > 0;) {
    if (mean(regret.subspan(i, kSettledWindow)) > kNear) break;
    from = static_cast<std::uint32_t>(i + 1);
  }
  return from;
}

}  // namespace

double cost_of(const Goal& goal, const ProfileCell& cell) {
  if (!cell.timed()) return kNoCell;
  const double sample_s = cell.minibatch_ms / 1e3 / cell.batch_size;
  return goal.cost(sample_s, sample_s * cell.power_w);
}

Goal with_reference(Goal goal, const Profile& profile) {
  const ProfileCell* highest =
      profile.find(profile.knobs().highest(), profile.batch_sizes().back());
  if (highest == nullptr || !highest->timed()) {
    throw std::runtime_error(
        profile.device + ' ' + profile.workload + ": its highest setting, " +
        profile.knobs().describe(profile.knobs().highest()) + " with batch size " +
        std::to_string(profile.batch_sizes().back()) +
        ", has no minibatch_ms, and weighted costs are relative to it; keep other values of its "
        "knobs with --keep, or fill gaps with --missing");
  }
  goal.reference_s = highest->minibatch_ms / 1e3 / highest->batch_size;
  goal.reference_j = goal.reference_s * highest->power_w;
  return goal;
}

const ProfileCell* best_online_cell(const Goal& goal, const OptimumTable& table) {
  const Profile& profile = table.profile();
  const ProfileCell* best = nullptr;
  for (const ProfileCell& cell : profile.cells()) {
    if (!cell.timed() || !table.trusts(cell)) continue;
    const Problem problem{.kind = profile.kind, .goal = goal};
    if (!keeps_power(problem, cell) || !keeps_energy(problem, cell)) continue;
    if (best == nullptr || cost_of(goal, cell) < cost_of(goal, *best)) best = &cell;
  }
  return best;
}

OnlineRow judge_online(const Grid& grid, const Case& one, const Trial& trial,
                       std::size_t measurements) {
  const OptimumTable& table = grid.workloads[one.workload].optimum;
  const Profile& profile = table.profile();
  const Goal goal = with_reference(grid.problems[one.problem].goal, profile);
  const Problem problem{.kind = profile.kind, .goal = goal};
  OnlineRow row;
  row.of = one;
  row.trial = trial;
  row.optimum = best_online_cell(goal, table);
  if (row.optimum == nullptr) return row;
  row.optimum_cost = cost_of(goal, *row.optimum);
  const ProfileCell* held =
      profile.find(trial.held.mode, trial.held.batch_size[index(profile.kind)]);
  for (std::size_t i = 0; i < measurements; ++i) {
    const bool measured = i < trial.sequence.size();
    const ProfileCell* cell = held;
    if (measured) {
      const std::uint32_t which = trial.sequence[i];
      cell = which < profile.cells().size() ? &profile.cells()[which] : nullptr;
    }
    const double cost = cell == nullptr ? kNoCell : cost_of(goal, *cell);
    const bool within_cap = cell != nullptr && keeps_power(problem, *cell);
    const bool keeps = within_cap && keeps_energy(problem, *cell);
    row.regret.push_back(std::max(0.0, cost / row.optimum_cost - 1));
    if (cell != nullptr && !within_cap) ++row.over_cap;
    if (!row.reached && keeps && row.regret.back() <= kNear) {
      row.reached = static_cast<std::uint32_t>(i + 1);
    }
  }
  row.settled = settled_from(row.regret);
  row.cumulative_regret = std::accumulate(row.regret.begin(), row.regret.end(), 0.0);
  if (measurements > kLearning) {
    row.late_regret = mean(std::span<const double>(row.regret).subspan(kLearning));
  }
  return row;
}

}  // namespace gearshift
