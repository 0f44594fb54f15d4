// Whether faults are told: what a scenario breaks so that the controller must notice has to be in
// its notes while it lasts.
#pragma once

#include <optional>
#include <string>

#include "controller/recorder.h"
#include "simulator/fault_plan.h"

namespace gearshift::swarm {

// Readings that are missing or absurd make power unknown; a workload that vanishes is detached. The
// other kinds may rightly pass in silence: a reading that repeats itself looks like one that does
// not change, a knob that refuses is met only when it is written, a trainer that stalls only when
// it is measured.
class ReportWatch {
 public:
  explicit ReportWatch(const FaultPlan& plan) : plan_(plan) {}

  void note(const Note& note);
  // After each tick; names a fault that nobody has been told of in time.
  std::optional<std::string> step(const Status& status);
  // Faults, or spans of several at once, that were told.
  std::size_t told() const { return told_; }

 private:
  // A span in which one or more faults of a kind lasted.
  struct Span {
    std::optional<Time> since;
    bool told = false;
    bool judged = false;
  };
  std::optional<std::string> judge(Span& span, bool active, bool told, Time now,
                                   const char* complaint);

  const FaultPlan& plan_;
  Span blind_;
  Span gone_;
  bool attached_ = false;  // a workload was, at the newest tick
  Time unknown_noted_ = Time::min();
  Time detached_noted_ = Time::min();
  Time known_ = Time::min();  // newest tick at which power was known
  std::size_t told_ = 0;
};

}  // namespace gearshift::swarm
