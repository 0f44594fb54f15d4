#include "trace/policy_comparison.h"

#include <utility>

#include "trace/recorded_goal.h"

namespace gearshift {
namespace {

bool asks(const Request& request) {
  return request.what == Request::What::measure || request.what == Request::What::remeasure;
}

// What was measured of the setting itself, as the memory of a run keeps it.
bool tells_of_setting(const Observation& observation) {
  return observation.ok() || observation.failed() || observation.outcome == Outcome::over_limit ||
         observation.outcome == Outcome::late;
}

}  // namespace

std::vector<PlacedObservation> read_placed_observations(RecordingReader& reader) {
  std::vector<PlacedObservation> all;
  Roster roster;
  RecordedGoal goal(reader.header().options.goal);
  const Rationale no_reference;  // costs are not judged here
  std::uint32_t world = 0;
  RecordedTick tick;
  while (reader.next(tick)) {
    for (const Event& event : tick.events) {
      goal.consume(event);
      if (event.type == EventType::attached) roster.attach(event.workload);
      if (event.type == EventType::detached) roster.detach(event.handle);
    }
    for (const RecordedNote& note : tick.notes) {
      goal.note(note, no_reference);
      if (note.type == NoteType::drift) ++world;
      if (!note.observation) continue;
      Observation& made =
          all.emplace_back(PlacedObservation{*note.observation, roster.key(), world}).observation;
      if (made.outcome == Outcome::late) made.late_per_s = goal.goal().arrivals_per_s;
    }
  }
  return all;
}

ComparedPolicy::ComparedPolicy(Policy& recorded, Policy& other, const Replay& replay,
                               std::vector<PlacedObservation> observations)
    : recorded_(recorded), other_(other), replay_(replay), observations_(std::move(observations)) {}

Request ComparedPolicy::start(const PolicyContext& context) {
  return begin(recorded_.start(context), context);
}

Request ComparedPolicy::replace(std::string_view text, const PolicyContext& context) {
  return begin(recorded_.replace(text, context), context);
}

Request ComparedPolicy::resume(const Observation& answer) {
  const Request request = recorded_.resume(answer);
  if (!searches_.empty()) add(searches_.back().recorded, request);
  return request;
}

Request ComparedPolicy::begin(const Request& first, const PolicyContext& context) {
  ComparedSearch& search = searches_.emplace_back();
  search.since_start = replay_.since_start();
  search.goal = context.goal;
  roster_ = Roster();
  for (const Workload* workload : context.workloads) {
    if (workload != nullptr) roster_.attach(*workload);
  }
  workloads_ = roster_.key();
  world_ = replay_.worlds();
  add(search.recorded, first);
  ask_other(context, search);
  return first;
}

// Keeps the request as the loop would take it from the workloads that are there.
const Request& ComparedPolicy::add(std::vector<Request>& requests, Request request) const {
  request.setting = roster_.normalised(request.setting);
  return requests.emplace_back(request);
}

void ComparedPolicy::ask_other(const PolicyContext& context, ComparedSearch& search) {
  Request request = other_.start(context);
  while (true) {
    request = add(search.other, request);
    if (request.what == Request::What::failed) search.other_failure = other_.failure();
    if (!asks(request)) break;
    const Observation* known = find(request.setting, context.goal);
    search.other_unanswered = known == nullptr;
    search.other_stopped = known != nullptr && search.other.size() == kMostCompared;
    if (known == nullptr || search.other_stopped) break;
    request = other_.resume(*known);
  }
  while (!other_.take_log().empty()) continue;  // what it says is not the recorded run's
}

// A measurement that was completed answers before one that was not, the newest of them first; what
// a limit cut short answers only where the limit is no looser than it was.
const Observation* ComparedPolicy::find(const Setting& setting, const Goal& goal) const {
  const Observation* found = nullptr;
  for (const auto& [observation, workloads, world] : observations_) {
    if (observation.setting != setting || workloads != workloads_ || world != world_) continue;
    const bool answers = tells_of_setting(observation) &&
                         observation.answers(goal.power_mw.value_or(0), goal.arrivals_per_s);
    if (answers && (found == nullptr || observation.ok() || !found->ok())) found = &observation;
  }
  return found;
}

}  // namespace gearshift
