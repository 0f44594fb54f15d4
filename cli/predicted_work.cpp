#include "cli/predicted_work.h"

#include <memory>

#include "boards/board_model.h"
#include "policies/numerics/pareto_front.h"
#include "simulator/cost_source.h"

namespace gearshift {
namespace {

WorkPoint point_of(const ModelCosts& costs, const PowerMode& mode, std::int32_t batch_size) {
  const TrueCost cost = costs.passing(mode, batch_size);
  return {cost.power_w, 1000 * batch_size / cost.minibatch_ms};
}

WorkPrediction predict(const BoardDescription& board, const KnobSpace& knobs,
                       const Workload& workload) {
  WorkPrediction prediction;
  const auto found = board.model ? board.find_workload(workload.name.view(), workload.kind)
                                 : board.workloads.end();
  if (found == board.workloads.end()) return prediction;
  const auto costs = std::make_shared<const ModelCosts>(board, knobs, found->second);
  std::vector<PredictedWork> all;
  std::vector<CostPair> pairs;
  std::vector<std::int32_t> batch_sizes(workload.batch_sizes.begin(),
                                        workload.batch_sizes.begin() + workload.batch_size_count);
  if (batch_sizes.empty()) batch_sizes = {workload.batch_size};
  for (const PowerMode& mode : modes_by_power(BoardDescription{}, knobs)) {
    for (const std::int32_t batch_size : batch_sizes) {
      Setting setting{.mode = mode};
      setting.batch_size[index(workload.kind)] = batch_size;
      all.push_back({setting, point_of(*costs, mode, batch_size)});
      pairs.push_back({all.back().point.power_w, 1 / all.back().point.samples_per_s});
    }
  }
  for (const std::size_t i : pareto_front(pairs)) prediction.front.push_back(all[i]);
  const std::size_t kind = index(workload.kind);
  prediction.of = [costs, kind](const Setting& setting) -> std::optional<WorkPoint> {
    if (setting.batch_size[kind] <= 0) return std::nullopt;
    return point_of(*costs, setting.mode, setting.batch_size[kind]);
  };
  return prediction;
}

}  // namespace

PredictWork predict_by_model(const BoardDescription& board, const KnobSpace& knobs) {
  return [&board, &knobs](const Workload& workload) { return predict(board, knobs, workload); };
}

double modelled_pause_w(const BoardDescription& board, const KnobSpace& knobs,
                        const PowerMode& mode) {
  if (!board.model || board.workloads.empty()) return 0;
  return ModelCosts(board, knobs, board.workloads.begin()->second).idle_power_w(mode);
}

}  // namespace gearshift
