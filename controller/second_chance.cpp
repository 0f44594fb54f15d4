// The part of the loop that tries again what may have failed by accident.
#include "controller/second_chance.h"

#include <string>

#include "controller/controller.h"

namespace gearshift {

// A trainer that evaluates, or saves its work, reports nothing meanwhile. So the first silence is
// held against no setting: what is known to fit, or else the safe setting, is in force until the
// workload reports again, and then the same is asked of the setting once more. False where that has
// been done, or nobody is silent.
bool Controller::await_reports(Outcome outcome, Time now) {
  if (!roster_.find_silent(now, applying_since_, options_.meter.stall_after)) return false;
  if (!silences_.excuse(wanted_, now)) return false;
  Observation failed;
  failed.setting = wanted_;
  failed.outcome = outcome;
  failed.limit_mw = cap_mw_.value_or(0);
  failed.duration = now - applying_since_;
  recorder_.note(
      {.type = NoteType::observation, .time = now, .setting = &wanted_, .observation = &failed});
  pending_ = measuring() && !seeks_reference_ ? Pending::asked : Pending::restart;
  asked_ = {Request::What::remeasure, wanted_};
  const Observation* best = best_known();
  if (best != nullptr && !roster_.objection(best->setting)) {
    apply(best->setting, Aim::fallback, now);
  } else {
    fall_back(now);
  }
  note(NoteType::safe, now, "no minibatch comes: nothing is tried until one does");
  return true;
}

// A search has ended that found nothing, or nothing that trains beside requests in time.
void Controller::arm_second_chance(Time now) {
  if ((goal_.one_by_one && serving_.limit()) || memory_.any_failed()) second_chance_.arm(now);
}

// A stall of the machine makes requests late in any setting, and what was refused or said nothing
// may do otherwise now: while requests are answered in time, and minibatches come, the search is
// made again without what it was told of those.
void Controller::try_again(Time now) {
  if (power_lost_ || paused_ || halted_ || !may_serve_all() || board_.away()) return;
  if (pending_ != Pending::nothing || !settled_ || measuring()) return;
  if (serving_.awaits_requests(now)) return;
  if (!roster_.heard_since(applying_since_)) return;
  // Where nothing serves them, they are late anyway.
  const bool in_time = serving_.recovered(now);
  if (!serving_.unserved() && !in_time) return;
  second_chance_.disarm();
  const bool failed = aim_ != Aim::hold && memory_.any_failed();
  const bool any = memory_.forget_passing();
  if (!any && aim_ != Aim::hold) return;
  if (failed) {
    note(NoteType::safe, now, "what failed may not fail any more: the search is made again");
  } else {
    note(NoteType::late, now, "nothing trained beside them in time: the search is made again");
  }
  if (in_time) serving_.forget_unserved();
  pending_ = Pending::restart;
}

}  // namespace gearshift
