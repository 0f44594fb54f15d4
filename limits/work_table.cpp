#include "limits/work_table.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "controller/set_aside.h"

namespace gearshift {
namespace {

// A prior sets `run` as it likes; where one kind works, all of its words mean the same.
bool same_work(const Setting& one, const Setting& other) {
  return one.mode == other.mode && one.batch_size == other.batch_size;
}

double median_or_one(std::vector<double>& values) {
  if (values.empty()) return 1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void WorkTable::predict(WorkPrediction prediction) {
  prediction_ = std::move(prediction);
  measured_.clear();
  aside_.clear();
}

void WorkTable::offer(WorkPrediction prediction,
                      const std::function<bool(const Setting&)>& offered) {
  prediction_ = std::move(prediction);
  set_aside(measured_, aside_, std::numeric_limits<std::size_t>::max(),
            [&](const PredictedWork& one) { return offered(one.setting); });
}

void WorkTable::learn(const Observation& observation) {
  if (!observation.ok()) return;
  const WorkPoint point{static_cast<double>(observation.power_mean_mw) / 1000,
                        1 / observation.sample_s(observation.counted())};
  if (!(point.power_w > 0 && point.samples_per_s > 0)) return;
  const auto known = std::find_if(
      measured_.begin(), measured_.end(),
      [&](const PredictedWork& one) { return same_work(one.setting, observation.setting); });
  if (known == measured_.end()) {
    measured_.push_back({observation.setting, point});
  } else {
    known->point = point;
  }
}

std::vector<WorkPoint> WorkTable::points() const {
  std::vector<WorkPoint> points;
  std::vector<double> power_ratios;
  std::vector<double> work_ratios;
  for (const PredictedWork& known : measured_) {
    points.push_back(known.point);
    const auto predicted =
        prediction_.of ? prediction_.of(known.setting) : std::optional<WorkPoint>{};
    if (!predicted || !(predicted->power_w > 0 && predicted->samples_per_s > 0)) continue;
    power_ratios.push_back(known.point.power_w / predicted->power_w);
    work_ratios.push_back(known.point.samples_per_s / predicted->samples_per_s);
  }
  const double power_ratio = median_or_one(power_ratios);
  const double work_ratio = median_or_one(work_ratios);
  for (const PredictedWork& predicted : prediction_.front) {
    const bool measured = std::any_of(
        measured_.begin(), measured_.end(),
        [&](const PredictedWork& known) { return same_work(known.setting, predicted.setting); });
    if (measured) continue;
    points.push_back(
        {predicted.point.power_w * power_ratio, predicted.point.samples_per_s * work_ratio});
  }
  return points;
}

}  // namespace gearshift
