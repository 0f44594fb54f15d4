// The world of a simulation: waiting moves virtual time, and workloads attach at its beginning.
#pragma once

#include <string>
#include <string_view>

#include "controller/limit_source.h"
#include "controller/world.h"
#include "simulator/plant.h"

namespace gearshift {

class SimulatedWorld : public World {
 public:
  explicit SimulatedWorld(Plant& plant) : plant_(plant) {}

  Time wait_until(Time deadline, EventBuffer& events) override;
  void command(WorkloadHandle workload, const WorkloadCommand& command) override {
    plant_.command(workload, command);
  }
  std::string_view script() override { return {}; }
  void publish(const Status& status) override {
    plant_.set_cap_mw(is_power(status.cap_mw) ? status.cap_mw : 0);
  }
  // The next wait ends at once, with a stop event that says why.
  void stop(std::string_view why) { stop_ = why; }

 private:
  Plant& plant_;
  bool attached_ = false;
  std::string stop_;
};

}  // namespace gearshift
