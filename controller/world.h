// The one place the loop blocks, and the way back out to the workloads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/setting.h"
#include "controller/status.h"

namespace gearshift {

// Events of one tick, in the order they arrived. Reused: cleared by the loop, never shrunk.
using EventBuffer = std::vector<Event>;

enum class CommandType : std::uint8_t {
  set,         // the batch size, and to run or wait; answered by an applied or refused event
  checkpoint,  // to save its work; answered by a saved or unsaved event
};

// What a workload is asked for. Its answer has the same sequence; each type has one of its own.
struct WorkloadCommand {
  std::uint32_t sequence = 0;
  std::int32_t batch_size = 0;
  Run run = Run::both;
  CommandType type = CommandType::set;
  Duration within{};  // checkpoint: how long its answer is waited for
};

class World {
 public:
  virtual ~World() = default;
  // Appends what arrived to `events` and returns the time now: at the deadline, or at once after an
  // urgent event or a new power reading. Drains at most kMaxEventsPerTick messages.
  virtual Time wait_until(Time deadline, EventBuffer& events) = 0;
  // Never blocks; a workload that cannot take the command is reported by a detached event.
  virtual void command(WorkloadHandle workload, const WorkloadCommand& command) = 0;
  // The newest text of the policy script. Valid until the next call.
  virtual std::string_view script() = 0;
  // What status requests are answered with until the next call.
  virtual void publish(const Status& status) = 0;
};

}  // namespace gearshift
