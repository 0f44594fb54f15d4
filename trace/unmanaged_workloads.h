// The workloads that run beside the managed ones and are only observed: what power is measured
// meanwhile is theirs too.
#pragma once

#include <algorithm>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/observation.h"

namespace gearshift {

class UnmanagedWorkloads {
 public:
  // One that is managed from now on has been detached before, and runs beside nobody.
  void attach(WorkloadHandle handle, bool managed) {
    if (!managed) attached_.push_back(handle);
  }
  void detach(WorkloadHandle handle, Time now) {
    if (std::erase(attached_, handle) > 0) left_ = now;
  }
  // True where one was there at any time of the measurement, which ended at `ended`.
  bool beside(const Observation& observation, Time ended) const {
    // In seconds: a recording may say any number.
    const double began_s =
        gearshift::seconds(ended.time_since_epoch()) - gearshift::seconds(observation.duration);
    return !attached_.empty() || gearshift::seconds(left_.time_since_epoch()) > began_s;
  }

 private:
  std::vector<WorkloadHandle> attached_;
  Time left_ = Time::min();  // when the newest of those that have did
};

}  // namespace gearshift
