// What each setting is expected to do for its power: predicted at first, measured where it was.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "controller/observation.h"
#include "limits/power_hull.h"

namespace gearshift {

struct PredictedWork {
  Setting setting;
  WorkPoint point;
};

// What a model says of a workload.
struct WorkPrediction {
  std::vector<PredictedWork> front;  // the settings that no other beats in both power and work
  // Of any setting; nullopt where the model says nothing. May be empty where `front` is.
  std::function<std::optional<WorkPoint>(const Setting&)> of;
};

class WorkTable {
 public:
  // What is known starts from it; measurements are forgotten.
  void predict(WorkPrediction prediction);
  // The same work comes with other settings: predictions are other ones, and of what was measured
  // that counts whose setting is `offered`. The rest is set aside until it is again.
  void offer(WorkPrediction prediction, const std::function<bool(const Setting&)>& offered);
  // Of the kind that the observation counts; one that is not ok says nothing.
  void learn(const Observation& observation);

  // Measured settings as they were measured; of the others the predictions, times the median ratio
  // of what was measured to what had been predicted, for power and for work apart.
  std::vector<WorkPoint> points() const;

 private:
  WorkPrediction prediction_;
  std::vector<PredictedWork> measured_;
  std::vector<PredictedWork> aside_;
};

}  // namespace gearshift
