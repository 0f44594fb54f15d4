// The goal of a run as its policy had it, followed through a recording: what was asked for, and
// what the loop found out since.
#pragma once

#include "controller/goal.h"
#include "controller/rationale.h"
#include "controller/roster.h"
#include "trace/recording.h"

namespace gearshift {

class RecordedGoal {
 public:
  explicit RecordedGoal(const Goal& asked) : asked_(asked), goal_(asked) {}

  // Changes of the goal, and servers that come and go.
  void consume(const Event& event);
  // A reference's costs are those of its setting's observation, which `rationale` was told before.
  void note(const RecordedNote& note, const Rationale& rationale);
  const Goal& goal() const { return goal_; }

 private:
  void take_reference(const RecordedNote& note, const Rationale& rationale);
  void take_rate(const std::string& text);
  void follow_default();

  Goal asked_;
  Goal goal_;
  Roster roster_;
};

}  // namespace gearshift
