// The part of the loop that knows what is minimised: the operator's changes, and what a weighted
// goal is measured against.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "controller/controller.h"

namespace gearshift {
namespace {

// Of requests that come one by one even half of such a batch are late before they are served.
bool is_never_in_time(const Goal& goal, const Setting& setting) {
  const std::int32_t batch_size = setting.batch_size[index(Kind::infer)];
  return goal.one_by_one && batch_size > 0 && !goal.answers_in_time(batch_size, 0);
}

// Of settings that no workload can be asked for nothing was remembered.
void add_known(ReferenceSearch& search, const Observation* known) {
  if (known == nullptr) return search.failed();
  if (known->ok()) return search.measured();
  known->outcome == Outcome::late ? search.late() : search.failed();
}

std::string sample_text(double time_s, double energy_j) {
  char text[96];
  std::snprintf(text, sizeof text, "%.6g ms and %.6g J a sample", 1e3 * time_s, energy_j);
  return text;
}

}  // namespace

void Controller::change_goal(const GoalChange& change, Time now) {
  const Goal wanted = changed(goal_, change);
  if (const std::string_view why = objection(goal_, change); !why.empty()) {
    note(NoteType::objective, now, "unchanged: " + std::string(why));
    return;
  }
  note(NoteType::objective, now, describe(wanted));
  if (wanted == goal_) return;
  goal_ = wanted;
  second_chance_.reset();
  if (!roster_.any_managed()) return;
  if (measuring()) cut_measurement(Outcome::goal_changed, now);
  pending_ = Pending::restart;
}

// Of who runs, and the rate of requests, something has changed: the caller lets the policy start
// again.
void Controller::follow_default_objective(Time now) {
  const Goal wanted = with_default_objective(goal_, roster_.trains_and_serves());
  if (wanted == goal_) return;
  goal_ = wanted;
  note(NoteType::objective, now, describe(goal_));
}

// Of the policy's search, with what may be told of a way out.
std::string Controller::nothing_found() const {
  std::string text = "the policy found no setting";
  if (roster_.trains_and_serves() && serving_.limit() && goal_.objective != Objective::throughput) {
    text +=
        "; beside training, batches of requests are sought with objective throughput alone: "
        "gearshift goal --objective throughput";
  }
  return text;
}

// The least latency is asked for, and there is nobody's.
bool Controller::lacks_requests() const {
  const bool serves = roster_.managed(Kind::infer) != nullptr && goal_.arrivals_per_s > 0;
  return goal_.objective == Objective::latency && !serves;
}

// Meanwhile the time of a sample is what a policy can make least.
Goal Controller::policy_goal() const {
  Goal goal = goal_;
  if (lacks_requests()) goal.objective = Objective::time;
  return goal;
}

void Controller::tell_unserved_latency(Time now) {
  if (std::exchange(lacked_requests_, lacks_requests()) || !lacked_requests_) return;
  const bool serves = roster_.managed(Kind::infer) != nullptr;
  const std::string why = serves ? "the rate of requests is not known" : "no server is attached";
  note(NoteType::objective, now, "latency: " + why + "; the time of a sample counts meanwhile");
}

bool Controller::needs_reference() const {
  return goal_.objective == Objective::weighted && !goal_.has_reference();
}

// What a program gave with the goal is its own to change.
void Controller::forget_reference() {
  goal_.reference_s = options_.goal.reference_s;
  goal_.reference_j = options_.goal.reference_j;
  lower_reference_.reset();
}

std::array<std::int32_t, kKinds> Controller::own_batches() const {
  std::array<std::int32_t, kKinds> sizes{};
  for (const Workload* workload : roster_.managed()) {
    if (workload != nullptr) sizes[index(workload->kind)] = workload->batch_size;
  }
  return sizes;
}

Setting Controller::reference_setting(const ReferenceSearch::Place& place) const {
  Setting setting;
  setting.mode = board_.traits().modes[place.mode];
  for (const Workload* workload : roster_.managed()) {
    if (workload == nullptr) continue;
    setting.batch_size[index(workload->kind)] =
        smaller_batch(workload->allowed(), workload->batch_size, place.smaller);
  }
  return roster_.normalised(setting);
}

// A tighter cap cut it short for more power than this one is: so would this one.
bool Controller::drew_over_cap(const Setting& setting) const {
  const Observation* newest = memory_.newest(setting);
  return newest != nullptr && newest->outcome == Outcome::over_limit && cap_mw_ &&
         newest->power_mean_mw > *cap_mw_;
}

// The search as far as memory goes: it is over, or the next of it has to be measured.
ReferenceSearch Controller::remembered_search() const {
  std::size_t smaller = 0;
  for (const Workload* workload : roster_.managed()) {
    if (workload == nullptr) continue;
    smaller = std::max(smaller, smaller_batches(workload->allowed(), workload->batch_size));
  }
  ReferenceSearch search(board_.traits().modes.size(), smaller);
  for (auto place = search.next(); place; place = search.next()) {
    const Setting setting = reference_setting(*place);
    if (is_never_in_time(goal_, setting)) {
      search.late();
      continue;
    }
    const Observation* known = this->known(setting);
    if (known == nullptr && !drew_over_cap(setting) && !roster_.objection(setting)) break;
    add_known(search, known);
  }
  return search;
}

// A setting that failed when the reference was sought, and is above it, has been measured since.
// Where none was found, any will do.
bool Controller::outgrows_reference() const {
  const bool lacks_any = needs_reference() && !seeks_reference_;
  if (!lower_reference_ && !lacks_any) return false;
  const auto found = remembered_search().found();
  if (!found || lacks_any) return found.has_value();
  if (found->smaller != lower_reference_->smaller) {
    return found->smaller < lower_reference_->smaller;
  }
  return found->mode > lower_reference_->mode;
}

// True where a measurement has begun: the search goes on from memory once it has ended, and the
// policy is asked after that.
bool Controller::seek_reference(Time now) {
  if (!needs_reference()) return false;
  const ReferenceSearch search = remembered_search();
  if (const auto place = search.next()) {
    apply(reference_setting(*place), Aim::measure, now);
    seeks_reference_ = true;
    return true;
  }
  if (!search.found()) {
    recorder_.note({.type = NoteType::reference,
                    .time = now,
                    .text = "none: no setting could be measured, and no cost is known"});
    return false;
  }
  const Setting setting = reference_setting(*search.found());
  const Observation& found = *known(setting);
  goal_.reference_s = found.sample_s(found.counted());
  goal_.reference_j = found.energy_j(goal_);
  reference_batches_ = own_batches();
  if (!search.is_highest()) lower_reference_ = search.found();
  std::string text = sample_text(goal_.reference_s, goal_.reference_j);
  if (search.found()->smaller > 0) {
    text += "; nothing can be measured with a larger batch";
  } else if (lower_reference_) {
    text += "; the highest setting cannot be measured";
  }
  if (lower_reference_ && cap_mw_) text += " under this cap";
  recorder_.note({.type = NoteType::reference, .time = now, .setting = &setting, .text = text});
  return false;
}

// What the policy asked for, or what the controller asks before the policy.
void Controller::take_answer(const Observation& answer, Time now) {
  if (seeks_reference_) {
    restart_policy(now);
  } else {
    handle(policy_.resume(answer), now);
  }
}

}  // namespace gearshift
