// The part of the loop that answers requests in time whatever the policy says: the rate at which
// they arrive, and what is done at once where they are late.
#include <cmath>
#include <cstdio>

#include "controller/controller.h"

namespace gearshift {

// A server came, or left: what was known of its requests is another one's. One that comes is
// measured against a reference at its own rate.
void Controller::meet_server(const Workload* server) {
  if (server != nullptr) forget_reference();
  goal_ = beside_server(goal_, options_.goal, server == nullptr ? Duration{} : server->latency);
  serving_.meet(server, goal_);
  relief_.forget();
}

Serving::Use Controller::use() const {
  if (measuring()) return Serving::Use::measured;
  return aim_ == Aim::hold ? Serving::Use::held : Serving::Use::other;
}

void Controller::on_requests(const RequestReport& report, Time now) {
  const Workload* server = roster_.managed(Kind::infer);
  if (server == nullptr || server->handle != report.workload) return;
  ledger_.add(report);
  if (settled_ && serving_.judges(report)) {
    serving_.credit(report, wanted_, use());
    relief_.add(report.served + report.refused, report.late);
  }
  if (serving_.add(report)) update_arrivals(now);
}

void Controller::update_arrivals(Time now) {
  const double per_s = serving_.planned_per_s();
  if (per_s > goal_.arrivals_per_s) relief_.forget_shares();
  relief_.forget_end();
  goal_.arrivals_per_s = per_s;
  goal_.one_by_one = true;
  // A lone server's energy is of its rate, the reference's too: it is taken anew from memory.
  if (roster_.managed(Kind::train) == nullptr) forget_reference();
  drift_.change_requests();
  second_chance_.reset();
  char text[64];
  std::snprintf(text, sizeof text, "%.4g requests a second", per_s);
  note(NoteType::arrivals, now, text);
  follow_default_objective(now);
  if (!roster_.any_managed()) return;
  if (measuring()) {
    cut_measurement(Outcome::goal_changed, now);
  } else if (aim_ == Aim::hold || aim_ == Aim::fallback) {
    // What serves the new rate is taken now, not when the first request is late.
    const Observation* known = this->known(wanted_);
    if (known != nullptr && !known->keeps(exact_goal())) fall_back(now);
  }
  pending_ = Pending::restart;
}

// By what is wanted.
bool Controller::trainer_runs() const {
  return roster_.managed(Kind::train) != nullptr && runs(wanted_.run, Kind::train);
}

// For requests.
bool Controller::trainer_waits() const {
  return roster_.managed(Kind::train) != nullptr && !runs(wanted_.run, Kind::train);
}

void Controller::enforce_latency(Time now) {
  // Before the first setting there is nothing to step from: the policy is asked.
  if (roster_.managed(Kind::infer) == nullptr || power_lost_ || aim_ == Aim::nothing) return;
  // What is wanted is not what serves.
  if (paused_ || halted_ || !may_serve_all() || board_.away()) return;
  const bool awaits_requests = serving_.awaits_requests(now);
  if (measuring() && settled_ && awaits_requests) {
    cut_measurement(Outcome::goal_changed, now);
    fall_back(now);
    pending_ = Pending::restart;
    return;
  }
  if (settled_ && awaits_requests && trainer_waits()) {
    // Nobody asks any more: there is no reason left to wait.
    serving_.forget_unserved();
    fall_back(now);
    if (trainer_waits()) apply(safe_setting(), Aim::safe, now);
    pending_ = Pending::restart;
    return;
  }
  if (measuring() && settled_ && serving_.never_fills(wanted_.batch_size[index(Kind::infer)])) {
    note(NoteType::late, now, "the batch is never half full in time");
    cut_measurement(Outcome::late, now);
    take_answer(pending_answer_, now);
    return;
  }
  // The guard of power is at work: its steps go first.
  const bool steps_down = !settled_ && (aim_ == Aim::fallback || aim_ == Aim::safe);
  // What the board stepped down to is judged first: on top of it nobody could tell what relief
  // draws.
  const bool over = (aim_ == Aim::fallback || aim_ == Aim::safe) && !guard_.recovered(now);
  const bool unjudged = aim_ == Aim::fallback && !guard_.judges(now);
  prove_relief(now);
  if (serving_.late(now) && !steps_down && !over && !unjudged) on_late(now);
}

void Controller::on_late(Time now) {
  if (proves_relief(now)) {
    serving_.begin_lateness(now);
    serving_.rearm_at(now);
    return;
  }
  if (serving_.bears_stall(wanted_, use())) {
    note(NoteType::late, now, serving_.lateness() + ": a minibatch stalled, and no longer does");
    serving_.rearm_at(now);
    return;
  }
  serving_.begin_lateness(now);
  const bool held = !measuring() && aim_ != Aim::relief;
  const bool blamed = held && serving_.blames(wanted_, use());
  if (!serving_.unserved()) ++summary_.latency_steps;
  if (!serving_.unserved() || blamed) tell_late(blamed, now);
  const double rate = serving_.pressing_per_s();
  if (measuring()) {
    const bool for_reference = seeks_reference_;
    cut_measurement(Outcome::late, now);
    if (seeks_what_serves()) {
      asked_ = policy_.resume(pending_answer_);
      handle_asked(true, now);
      return;
    }
    if (pending_ == Pending::nothing) {
      pending_ = for_reference ? Pending::restart : Pending::resume;
    }
  } else {
    // A policy that found no setting, or failed, is not asked again for that. Nor is one whose
    // choice is not to blame: it knows no more than when it chose.
    if (pending_ == Pending::nothing && aim_ == Aim::hold) {
      pending_ = blamed ? Pending::restart : Pending::asked;
      asked_ = {.what = Request::What::hold, .setting = wanted_};
    }
  }
  relieve(rate, now);
}

// What is held against a setting is told with it: whoever explains the run goes by the same.
void Controller::tell_late(bool blamed, Time now) {
  const double per_s = blamed ? serving_.late_per_s() : 0;
  if (blamed) memory_.mark_late(wanted_, per_s);
  note(NoteType::late, now, serving_.lateness(), std::llround(kLateParts * per_s));
}

// Below all that is known requests are still answered, where inference alone may fit.
void Controller::fall_with_cap(Time now) {
  const auto alone = best_known() == nullptr ? serving_alone() : std::nullopt;
  if (alone) {
    apply(*alone, Aim::fallback, now);
  } else {
    step_down(now);
  }
}

}  // namespace gearshift
