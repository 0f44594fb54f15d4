// The part of the loop that holds whatever the policy says: caps and the guard.
#include <algorithm>

#include "controller/controller.h"

namespace gearshift {

void Controller::update_cap(Time now) {
  const bool moved = sources_.cap().moves;
  sources_.ask(now);
  std::optional<std::int64_t> floor_mw;
  if (sources_.plans() && serving_.must_serve()) floor_mw = latency_floor_mw().value_or(0);
  sources_.combine(floor_mw, lowest_mode_ == LowestMode::over, serving_);
  if (sources_.ends_soon().empty()) {
    checkpoint_.forget();
  } else {
    ask_to_save(now);
    if (checkpoint_.over()) sources_.leave_none();
  }
  sources_.hear(checkpoint_.over());
  const Cap& cap = sources_.cap();
  if (cap.power_mw != cap_mw_) {
    change_cap(cap.power_mw, now);
    return;
  }
  // A plan and what it gives way to may take turns without end.
  const bool chosen = !cap.moves || !moved;
  if (cap_mw_ && chosen && cap.source != told_source_.view()) tell_cap(now);
  const bool steps = cap.moves != moved && !paused_;
  if (goal_pending_ || steps) update_goal(now);
}

void Controller::change_cap(std::optional<std::int64_t> cap, Time now) {
  const bool falls = cap && (!cap_mw_ || *cap < *cap_mw_);
  cap_mw_ = cap;
  if (falls) {
    credit_.forget();
    relief_.forget();
  }
  relief_.forget_end();
  const bool rests_on = falls && duty_.active();
  if (!rests_on) lowest_mode_ = LowestMode::fits;
  tell_cap(now);
  if (paused_ != (cap && *cap <= kNoPowerMw)) {
    update_pause(now);
    return;
  }
  guard_.set_cap(cap);
  if (falls && roster_.any_managed() && aim_ != Aim::safe) keep_what_fits(now);
  update_goal(now);
}

void Controller::tell_cap(Time now) {
  told_source_ = BoundedText<32>(sources_.cap().source);
  note(NoteType::goal, now, sources_.cap().source, cap_mw_.value_or(0));
}

// The cap fell, which is acted on now, not when a reading shows it: only a setting known to fit
// stays.
void Controller::keep_what_fits(Time now) {
  ration_.end_probe();
  const Observation* known = this->known(wanted_);
  const bool fits = known != nullptr && known->within(*cap_mw_);
  cut_by_cap(now);
  if (!fits) fall_with_cap(now);
  pending_ = Pending::restart;
}

// The least cap at which something measured answers requests in time; nullopt while nothing is
// known to, and a plan is then not held: under its cap nothing that does might ever be measured.
std::optional<std::int64_t> Controller::latency_floor_mw() const {
  Goal uncapped = goal_;
  uncapped.power_mw.reset();
  const Observation* least = memory_.least_power_serving(uncapped);
  if (least == nullptr) return std::nullopt;
  // The policy's goal is the cap rounded down: it must still allow the setting.
  return cap_step_up(least->power_mean_mw + least->power_margin_mw);
}

// The policy sees a cap that moves by itself in steps, and a looser one only after a dwell, so that
// one which trembles does not restart the search without end. The guard has the exact cap all the
// while, and so has the policy where somebody chose it.
void Controller::update_goal(Time now) {
  std::optional<std::int64_t> wanted = cap_mw_;
  if (wanted && sources_.cap().moves) wanted = std::max<std::int64_t>(1, cap_step_down(*wanted));
  goal_pending_ = false;
  if (wanted == goal_.power_mw) return;
  const bool looser = goal_.power_mw && (!wanted || *wanted > *goal_.power_mw);
  if (looser && now - goal_changed_ < options_.goal_dwell) {
    goal_pending_ = true;
    return;
  }
  if (looser && lower_reference_) forget_reference();
  goal_.power_mw = wanted;
  goal_changed_ = now;
  second_chance_.reset();
  if (!roster_.any_managed()) return;
  if (measuring()) cut_measurement(Outcome::goal_changed, now);
  pending_ = Pending::restart;
}

void Controller::enforce(Time now) {
  const Verdict verdict = guard_.check(now);
  if (power_lost_ && verdict != Verdict::power_unknown && guard_.power_mw(now)) {
    power_lost_ = false;
    // A board that did not answer took no setting either: it has come back with its own.
    if (aim_ == Aim::safe && settled_ && board_.state() == ApplyState::refused) {
      apply(safe_setting(), Aim::safe, now);
      return;
    }
  }
  switch (verdict) {
    case Verdict::within:
      break;
    case Verdict::over:
      on_over_cap(now);
      break;
    case Verdict::power_unknown:
      if (!power_lost_) on_power_unknown(now);
      break;
  }
  if (paused_) roster_.pause(world_);  // one that came since, whether or not power is known
  if (halted_ || (verdict != Verdict::within && board_.away())) halt(now);
  update_duty(verdict, now);
}

void Controller::on_over_cap(Time now) {
  const std::int64_t power_mw = guard_.judged_mw(now).value_or(0);
  const bool lowest = aim_ == Aim::safe && settled_;
  if (board_.away()) return;
  // The search that left a large batch in force may know no more.
  if (lowest && make_batches_smaller(now)) return;
  if (lowest) {
    tell_infeasible(power_mw, now);
    return;
  }
  ++summary_.guard_steps;
  const bool chosen = aim_ == Aim::hold;
  measuring() || chosen ? ration_.cut_probe(now) : ration_.step_down(now);
  const bool serves_alone = cut_relief(power_mw, now);
  charge_hidden_excess(power_mw, now);
  const bool settable = board_.knobs().size() > 0;
  note(NoteType::over_cap, now, settable ? "stepping down" : "no knob can be set here to step down",
       power_mw);
  Observation cut;
  cut.setting = wanted_;
  cut.outcome = Outcome::over_limit;
  cut.power_mean_mw = power_mw;
  cut.power_max_mw = power_mw;
  cut.power_is_estimate = guard_.estimates();
  cut.limit_mw = cap_mw_.value_or(0);
  cut.duration = now - applying_since_;
  if (measuring()) {
    ++summary_.measurements;
    // Where nobody answers who sets the knobs, nobody knows whose clocks drew it.
    const bool goes_on = !seeks_reference_ && !board_.unreadable();
    pending_ = goes_on ? Pending::resume : Pending::restart;
    pending_answer_ = cut;
  } else if (roster_.any_managed() && !(serves_alone && second_chance_.armed())) {
    if (pending_ == Pending::nothing) pending_ = Pending::restart;
  }
  const bool counts = aim_ != Aim::nothing && roster_.any_managed();
  const bool forgiven = counts && forgives(now);
  if (forgiven) {
    spared_ = cut.setting;
  } else if (counts) {
    recorder_.note(
        {.type = NoteType::observation, .time = now, .setting = &wanted_, .observation = &cut});
  }
  const bool surprises = counts && judge_cut(cut, forgiven, now);
  // Where a setting that was known to fit does not, the others that are known may not either.
  if (aim_ == Aim::fallback && settled_) {
    fall_far(now);
  } else {
    step_down(now);
  }
  if (chosen) keep_choice(cut.setting, &cut, wanted_);
  if (surprises && drift_.knows(wanted_)) proofs_ = kMostProofs;
}

// Whether what is held may be held again: it has kept this cap for long, and the cut is then no
// observation of it.
bool Controller::forgives(Time now) {
  const Observation* known = this->known(wanted_);
  const bool fits = known != nullptr && cap_mw_ && known->within(*cap_mw_);
  return fits && aim_ == Aim::hold && settled_ && credit_.pays(now);
}

// Remembers it, unless it is forgiven. True where the setting was known to be within the cap, and
// so the world may be another: what the board steps down to shows it, before the policy goes on
// among answers from memory.
bool Controller::judge_cut(const Observation& cut, bool forgiven, Time now) {
  const Observation* known = this->known(cut.setting);
  const bool fitted = known != nullptr && known->within(cut.limit_mw);
  // A sensor that lags may still show the setting before, where that drew more.
  const bool settles = now - wanted_since_ <= kLagWindows * board_.traits().power_window;
  const bool shows_another = settles && cut.power_mean_mw <= power_before_mw_;
  // Nor is it the setting's fault that another program had the clocks. Of a measurement once: it
  // would be asked for without end.
  if (follows_outside_write(now) && (!measuring() || excuses_.excuse(cut.setting, now))) {
    return fitted;
  }
  const bool before = may_be_before(cut.power_mean_mw, now);
  // A script that holds what it has not measured may have nothing else to hold: what power seemed
  // to be on its way to, and has not reached, is held against its choice the second time.
  const bool mean_shows = !early(now) && guard_.power_mw(now).value_or(0) > cut.limit_mw;
  const bool shown = mean_shows || guard_.knows_breach(now);
  const bool foreseen = aim_ == Aim::hold && !shown;
  // Until the workloads have followed, batches of another size run, and they may draw more.
  const bool others = roster_.awaits_batches() && may_follow(now, other_batches_.since());
  if (fitted && others) {
    // The next time its mode waits for them, unless the board steps down to it.
    if (other_batches_.blame(cut.setting, now) || steps_down_) return false;
  }
  // The minibatch after which training waits draws more than requests alone.
  const bool trains_on = !settled_ && awaits_rest();
  // Once: the setting before may lie as close to the cap, and this one would be tried without end.
  if (!fitted && (before || foreseen || trains_on) && excuses_.excuse(cut.setting, now)) {
    // Its own reading fits: it is measured once more, as the policy asked what it draws itself.
    const bool fits = guard_.newest_mw().value_or(cut.limit_mw) <= cut.limit_mw;
    if (before && fits && pending_ == Pending::resume) {
      pending_ = Pending::asked;
      asked_ = {Request::What::remeasure, cut.setting};
    }
    return false;
  }
  std::optional<DriftAlarm> alarm;
  if (fitted && !shows_another && !others) {
    Observation seen = cut;
    if (metering()) seen.cost = meter_.so_far();
    alarm = drift_.add_excess(seen);
  }
  if (!alarm) {
    if (forgiven) return drift_.suspects();
    remember(cut);
    return fitted;
  }
  // The cut too: a search in the new world begins like one from scratch.
  forget_world(*alarm, now);
  pending_ = Pending::restart;
  return false;
}

// Until it is in force, and so soon after, readings are of the setting before.
bool Controller::early(Time now) const {
  return !settled_ || now - guard_.changed() < board_.traits().power_window;
}

// The setting before may have drawn as much to 2 %: it may be to blame.
bool Controller::may_be_before(std::int64_t power_mw, Time now) const {
  return early(now) && 50 * power_mw <= 51 * most_before_mw_;
}

// All of it: other settings were measured in the same world as the one that shows the change, and
// nothing says by how much they moved. What is kept back would answer the policy in its stead.
void Controller::forget_world(const DriftAlarm& alarm, Time now) {
  ++summary_.drifts;
  recorder_.note({.type = NoteType::drift,
                  .time = now,
                  .setting = &alarm.setting,
                  .alarm = &alarm,
                  .text = alarm.text()});
  memory_.forget();
  forget_beside_memory();
}

// What goes with the observations that it was told of.
void Controller::forget_beside_memory() {
  credit_.forget();
  serving_.forget();
  relief_.forget();
  second_chance_.reset();
  drift_.forget();
  forget_reference();
}

void Controller::on_power_unknown(Time now) {
  power_lost_ = true;
  std::string why = "no power reading";
  for (const Reading& reading : readings_) {
    if (reading.quantity != Quantity::power) continue;
    const std::string explained = board_.explain(reading);
    why = reading.state == ReadingState::absurd    ? "absurd power reading"
          : reading.state == ReadingState::missing ? "missing power reading"
                                                   : "stale power reading";
    if (!explained.empty()) why += ": " + explained;
  }
  note(NoteType::power_unknown, now, why);
  if (measuring()) cut_measurement(Outcome::power_unknown, now);
  hold_safe(why, now);
  if (roster_.any_managed()) pending_ = Pending::restart;
}

}  // namespace gearshift
