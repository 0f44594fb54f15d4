#include "cli/setting_prediction.h"

#include <chrono>
#include <cstdint>

namespace gearshift {

void SettingPrediction::consume(const Event& event) {
  if (event.type == EventType::attached && event.workload.managed) {
    managed_.push_back(event.workload);
  } else if (event.type == EventType::detached) {
    std::erase_if(managed_, [&](const Workload& one) { return one.handle == event.handle; });
  } else {
    return;
  }
  costs_.reset();
  if (managed_.size() != 1 || !board_.model) return;
  const Workload& workload = managed_.front();
  const auto found = board_.find_workload(workload.name.view(), workload.kind);
  if (found == board_.workloads.end()) return;
  costs_ = std::make_unique<const ModelCosts>(board_, knobs_, found->second);
}

std::optional<PredictedCost> SettingPrediction::predict(const Setting& setting) const {
  if (costs_ == nullptr) return std::nullopt;
  const std::int32_t batch_size = setting.batch_size[index(managed_.front().kind)];
  if (batch_size <= 0 || setting.mode.count != knobs_.size()) return std::nullopt;
  const TrueCost cost = costs_->passing(setting.mode, batch_size);
  const auto minibatch = std::chrono::duration<double, std::milli>(cost.minibatch_ms);
  return PredictedCost{std::chrono::duration_cast<Duration>(minibatch),
                       static_cast<std::int64_t>(cost.power_w * 1000)};
}

}  // namespace gearshift
