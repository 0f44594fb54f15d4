// A world whose trainers stall and vanish by plan; around any other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/world.h"
#include "simulator/fault_plan.h"

namespace gearshift {

// A trainer that has vanished works on unheard. It comes back under a new handle when the fault is
// over and it has followed the last command that reached it.
class FaultyWorld : public World {
 public:
  // Both must outlive the world.
  FaultyWorld(World& world, const FaultPlan& plan) : world_(world), plan_(plan) {}

  Time wait_until(Time deadline, EventBuffer& events) override;
  void command(WorkloadHandle workload, const WorkloadCommand& command) override;
  std::string_view script() override { return world_.script(); }
  void publish(const Status& status) override { world_.publish(status); }

 private:
  struct Trainer {
    Workload hello;             // as it was; of training with the batch size it runs with now
    WorkloadHandle handle = 0;  // as the controller knows it
    bool vanished = false;
    std::uint32_t asked = 0;      // sequence of the last command that reached it
    std::uint32_t answered = 0;   // of the last one it answered
    std::uint32_t forgotten = 0;  // sequences up to here belong to the lost connection
  };

  // False: the event does not get through.
  bool pass(Event& event, Time now);
  Trainer* by_hello(WorkloadHandle handle);
  Trainer* by_handle(WorkloadHandle handle);

  World& world_;
  const FaultPlan& plan_;
  std::array<std::optional<Trainer>, kKinds> trainers_;
};

}  // namespace gearshift
