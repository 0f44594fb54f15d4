#include "simulator/simulated_world.h"

namespace gearshift {

Time SimulatedWorld::wait_until(Time deadline, EventBuffer& events) {
  if (!stop_.empty()) {
    Event& event = events.emplace_back();
    event.type = EventType::stop;
    event.text = BoundedText<96>(stop_);
    return plant_.now();
  }
  if (!attached_) {
    attached_ = true;
    for (const SimulatedWorkload& workload : plant_.workloads()) {
      Event& event = events.emplace_back();
      event.type = EventType::attached;
      event.handle = workload.hello().handle;
      event.workload = workload.hello();
    }
    return plant_.now();
  }
  return plant_.advance(deadline, events);
}

}  // namespace gearshift
