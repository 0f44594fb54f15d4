#include "trace/recorded_goal.h"

#include <charconv>

namespace gearshift {

void RecordedGoal::consume(const Event& event) {
  if (event.type == EventType::goal) {
    if (objection(goal_, event.goal).empty()) goal_ = changed(goal_, event.goal);
  } else if (event.type == EventType::attached) {
    if (roster_.attach(event.workload) && event.workload.kind == Kind::infer) {
      goal_ = beside_server(goal_, asked_, event.workload.latency);
    }
  } else if (event.type == EventType::detached) {
    const Workload* server = roster_.managed(Kind::infer);
    const bool serves = server != nullptr && server->handle == event.handle;
    roster_.detach(event.handle);
    if (serves) goal_ = beside_server(goal_, asked_, Duration{});
  }
  follow_default();
}

void RecordedGoal::note(const RecordedNote& note, const Rationale& rationale) {
  if (note.type == NoteType::reference) take_reference(note, rationale);
  if (note.type == NoteType::arrivals) take_rate(note.text);
}

void RecordedGoal::follow_default() {
  goal_ = with_default_objective(goal_, roster_.trains_and_serves());
}

void RecordedGoal::take_reference(const RecordedNote& note, const Rationale& rationale) {
  goal_.reference_s = asked_.reference_s;
  goal_.reference_j = asked_.reference_j;
  if (!note.setting) return;  // no setting could be measured
  for (const Tried& one : rationale.tried()) {
    const Observation& seen = one.observation;
    if (seen.setting != *note.setting || !seen.ok()) continue;
    goal_.reference_s = seen.sample_s(seen.counted());
    goal_.reference_j = seen.energy_j(goal_);
  }
}

// "59.98 requests a second"
void RecordedGoal::take_rate(const std::string& text) {
  double per_s = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), per_s);
  if (error != std::errc() || !(per_s > 0)) return;
  goal_.arrivals_per_s = per_s;
  goal_.one_by_one = true;
  follow_default();
}

}  // namespace gearshift
