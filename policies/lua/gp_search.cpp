#include "policies/lua/gp_search.h"

#include <limits>
#include <optional>
#include <utility>

#include "policies/numerics/cost_prior.h"

namespace gearshift {

bool interleaves(const PolicyContext& context) {
  return context.goal.objective == Objective::throughput && context.goal.arrivals_per_s > 0 &&
         context.workloads[index(Kind::train)] != nullptr &&
         context.workloads[index(Kind::infer)] != nullptr;
}

GpSearch::Interleaved::Interleaved(const PolicyContext& context, const BoardModel* board,
                                   SettingGrid modes, const SettingGrid& infer_grid,
                                   CostProcess infer)
    : train_grid(std::move(modes)),
      process(train_grid, infer_grid,
              CostProcess(train_grid, cost_centre(context, board, train_grid),
                          cost_prior(context, board, train_grid)),
              std::move(infer)) {}

GpSearch::GpSearch(const PolicyContext& context, const BoardModel* board)
    : grid(context, highest_mode(board), interleaves(context) ? kMostInterleaved : kMostGpSettings,
           interleaves(context) ? std::optional(Kind::infer) : std::nullopt),
      smooth(grid),
      known(grid.size()),
      known_alone(interleaves(context) ? grid.size() : 0),
      applied(grid, context.safe) {
  CostCentre centre = cost_centre(context, board, grid);
  quota = centre.quota;
  const auto mark = [&](std::vector<std::uint8_t>& marks, std::size_t at, const Observation& one) {
    if (!one.answers(context.goal.power_mw.value_or(0), context.goal.arrivals_per_s)) {
      marks[at] = 0;  // the newest of a setting counts
    } else {
      const bool cut = one.outcome == Outcome::over_limit || one.outcome == Outcome::late;
      mark_known(marks, at, one.ok() || cut);
    }
  };
  for (const Observation& one : context.observations) {
    if (const auto at = grid.find(one.setting)) mark(known, *at, one);
    if (const auto at = find_alone(one.setting)) mark(known_alone, *at, one);
  }
  if (interleaves(context)) centre = beside_training(std::move(centre), context.goal);
  CostProcess own(grid, centre, cost_prior(context, board, grid));
  if (!interleaves(context)) {
    process = std::make_unique<CostProcess>(std::move(own));
    return;
  }
  // The training batch size stays as it is.
  Workload train = *context.workloads[index(Kind::train)];
  train.batch_size_count = 0;
  PolicyContext beside = context;
  beside.workloads[index(Kind::train)] = &train;
  const auto most = std::numeric_limits<std::size_t>::max();
  SettingGrid modes(beside, highest_mode(board), most, Kind::train);
  interleaved =
      std::make_unique<Interleaved>(context, board, std::move(modes), grid, std::move(own));
}

std::optional<std::size_t> GpSearch::find_alone(Setting setting) const {
  if (known_alone.empty() || setting.run != Run::infer) return std::nullopt;
  setting.run = Run::both;
  return grid.find(setting);
}

std::vector<std::uint8_t> GpSearch::left_out(bool waiting) const {
  std::vector<std::uint8_t> all = waiting ? known_alone : known;
  applied.exclude(all);
  return all;
}

void GpSearch::mark_known(std::vector<std::uint8_t>& marks, std::size_t setting, bool ran) const {
  constexpr std::int64_t kWholeCore = 100;  // percent
  marks[setting] = 1;
  if (!quota || !ran) return;
  SettingGrid::Position at = grid.position(setting);
  const std::vector<std::int64_t>& quotas = grid.values(quota->dimension);
  const std::int64_t all = kWholeCore * grid.values(quota->cores)[at[quota->cores]];
  if (quotas[at[quota->dimension]] < all) return;
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    at[quota->dimension] = static_cast<std::uint16_t>(i);
    if (quotas[i] >= all) marks[grid.number(at)] = 1;
  }
}

GpSearch::Alone& GpSearch::serving_alone() {
  if (!alone) {
    alone = std::make_unique<Alone>(interleaved->process.infer());
    alone->process.forget();
    alone->conditioned = false;
  }
  return *alone;
}

}  // namespace gearshift
