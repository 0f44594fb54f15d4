// The part of the loop that lets a policy go on whose measurement was cut, or that is to start
// over.
#include "controller/controller.h"

namespace gearshift {
namespace {

// A search waits for so long until requests are in time.
constexpr Duration kPatience = std::chrono::seconds(3);

}  // namespace

// After a step down the policy goes on only when power is known to be back within the cap, and
// where something serves requests, when they are in time.
void Controller::continue_pending(Time now) {
  if (power_lost_ || paused_ || duty_.active() || checkpoint_.pending()) return;
  if (!roster_.any_managed()) return;
  const bool stepped_down = aim_ == Aim::fallback || aim_ == Aim::safe;
  if (!guard_.clear(now) || (stepped_down && !guard_.recovered(now))) return;
  if (saves_up(now)) return;
  // The lowest mode may never answer in time: what does is to be found. Nor may others.
  const bool may_serve =
      aim_ != Aim::nothing && !serving_.unserved() && !(goal_.one_by_one && aim_ == Aim::safe);
  const bool late = may_serve && !serving_.recovered(now);
  if (late && !(pending_ == Pending::resume && nothing_serves(now))) return;
  if (serving_.awaits_requests(now) || roster_.silent() || seek_proof(now) || !proved(now)) return;
  const Pending pending = pending_;
  pending_ = Pending::nothing;
  ration_.end_probe();
  if (pending == Pending::restart) {
    restart_policy(now);
    return;
  }
  if (pending == Pending::resume) {
    complete_cut();
    asked_ = policy_.resume(pending_answer_);
  }
  handle_asked(late, now);
}

// `late`: requests are. Then what runs training waits until they are in time, since those that have
// queued up would be late in it; what serves them alone does not.
void Controller::handle_asked(bool late, Time now) {
  const bool sets = asked_.what != Request::What::hold_safe && asked_.what != Request::What::failed;
  const bool alone =
      sets && roster_.managed(Kind::train) != nullptr && !runs(asked_.setting.run, Kind::train);
  if (late && !alone) {
    pending_ = Pending::asked;
    return;
  }
  late_before_ = late;
  handle(asked_, now);
}

// Requests have been late for a while, and the steps of relief have not found what serves them: the
// search that waits for that may know better.
bool Controller::nothing_serves(Time now) const {
  return serving_.late_for(kPatience, now) && none_is_known_to_serve();
}

// The policy looks for what serves requests alone: what it measures next is as good a way out as
// any.
bool Controller::seeks_what_serves() const {
  return trainer_waits() && !seeks_reference_ && pending_ == Pending::nothing &&
         none_is_known_to_serve();
}

bool Controller::none_is_known_to_serve() const {
  return best_known() == nullptr && relieving_setting(Relief::kServes) == nullptr;
}

// Where nothing is known of the safe setting, the best known one tells whether the world is
// another.
bool Controller::seek_proof(Time now) {
  if (aim_ != Aim::safe || !cap_mw_ || !drift_.suspects() || drift_.knows(wanted_)) return false;
  const Observation* best = best_known();
  if (best == nullptr || roster_.objection(best->setting)) return false;
  apply(best->setting, Aim::fallback, now);
  proofs_ = kMostProofs;
  return true;
}

// Measures what the board stepped down to until it agrees with what it cost before, or the test
// alarms. True when the policy may go on.
bool Controller::proved(Time now) {
  if (proofs_ == 0) return true;
  auto observation = meter_.answer(now);
  if (!observation) return false;
  observation->limit_mw = cap_mw_.value_or(0);
  observation->duration = now - hold_measured_since_;
  proofs_ = observation->ok() ? proofs_ - 1 : 0;
  if (const auto alarm = drift_.add(*observation)) {
    enter_new_world(*alarm, *observation, now);
    pending_ = Pending::restart;
    proofs_ = 0;
  }
  if (!drift_.suspects()) proofs_ = 0;
  measure_hold(now);
  return proofs_ == 0;
}

}  // namespace gearshift
