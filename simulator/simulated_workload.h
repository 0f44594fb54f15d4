// A workload in virtual time: minibatches that end when they are due, and commands it follows
// behind the batches that are under way.
#pragma once

#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/world.h"
#include "simulator/effects.h"
#include "simulator/noise.h"

namespace gearshift {

// How fast a minibatch goes.
struct Pace {
  double minibatch_ns = 0;   // mean of its own work
  double others_ns = 0;      // it waits so long for the workloads it takes turns with
  bool tells_others = true;  // the wait is a part of the elapsed time that it reports
  double fetch_stall_ns = 0;
  double gpu_ns = 0;             // 0: all but the stall
  double jitter = 0;             // relative deviation of its own work
  double first_ns = 0;           // what the workload's first minibatch takes longer
  double stall_ns = 0;           // what one minibatch in so many takes longer
  double stall_interval_ns = 0;  // of its own work between two of those, on average
  std::uint64_t noise_seed{};    // of the setting
};

class SimulatedWorkload {
 public:
  // `hello` as the controller meets it: batch_size is what it begins with.
  explicit SimulatedWorkload(const Workload& hello)
      : hello_(hello), batch_size_(hello.batch_size) {}

  const Workload& hello() const { return hello_; }
  std::int32_t batch_size() const { return batch_size_; }
  // What it will run with once it has followed.
  std::int32_t wanted_batch_size() const { return wanted_ ? wanted_->batch_size : batch_size_; }
  bool wanted_to_run() const {
    return wanted_ ? gearshift::runs(wanted_->run, hello_.kind) : runs_;
  }
  bool runs() const { return runs_; }
  // A newer command replaces one that is not followed yet.
  void command(const WorkloadCommand& command);
  // A command has come that nobody has looked at yet; said once.
  bool take_new_command();
  // Drops the command: it stays as it is.
  Event refuse(std::string_view why);
  // A workload that waits follows at once: appends its answer.
  void follow_if_waiting(Time now, EventBuffer& events);
  // One that has no batches under way does so too.
  void follow_at_once(Time now, EventBuffer& events) {
    if (wanted_) follow(now, events);
  }
  std::uint32_t set_sequence() const { return set_sequence_; }
  std::uint64_t minibatches() const { return minibatches_; }  // that have ended

  // The minibatch under way goes on at the new pace; one begins where none is.
  void set_pace(Time now, const Pace& pace);
  Time due() const { return due_; }
  // Ends the minibatch that is due, appends it, and begins the next. True when a command came into
  // force with it, whose answer is appended too: the pace must be set anew.
  bool finish(EventBuffer& events);
  // Ends the minibatch that is due, of so many samples, and appends it. None begins, and a command
  // waits until it is followed.
  void finish_alone(std::int32_t batch_size, EventBuffer& events);

 private:
  void follow(Time now, EventBuffer& events);
  double duration_ns() const;  // of the minibatch under way, at the pace of now

  Workload hello_;
  std::int32_t batch_size_;
  std::uint32_t set_sequence_ = 0;
  bool runs_ = true;
  std::optional<WorkloadCommand> wanted_;
  bool new_command_ = false;
  int ends_left_ = 0;  // minibatches until the command is in force

  Pace pace_;
  Jitter jitter_{0};
  bool working_ = false;
  Time began_{};
  Time due_ = Time::max();
  std::uint64_t minibatches_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace gearshift
