// The part of the loop that moves the knobs, and sees who else does.
#include <algorithm>

#include "controller/controller.h"

namespace gearshift {
namespace {

constexpr Duration kAsksAgain = std::chrono::seconds(1);

}  // namespace

// What the sensor shows may still be what another program's clocks drew; nobody knows whose they
// are while they cannot be read.
bool Controller::follows_outside_write(Time now) {
  const Duration lag = kLagWindows * board_.traits().power_window;
  if (outside_writes_.wrote_within(lag, now)) return true;
  return aim_ != Aim::nothing && (board_.unreadable() || board_.outside_write());
}

void Controller::tell_overwritten(Time now) {
  const auto write = board_.overwritten();
  if (!write || !outside_writes_.add(*write, now)) return;
  note(NoteType::outside_writer, now, board_.describe(*write), write->theirs);
}

// Another program may move a knob at any time (nvpmodel.service does): set it again, and say so
// once while it goes on.
void Controller::watch_knobs(Time now) {
  if (settled_ && board_.state() == ApplyState::applying &&
      move_knobs(now) != ApplyState::applying) {
    end_halt(now);
  }
  tell_overwritten(now);
  if (aim_ == Aim::nothing || mode_waits_ || board_.state() == ApplyState::applying) return;
  step_down_again(now);
  // Where knobs cannot be read any more, writing them tells whether anybody still sets them.
  if (!board_.outside_write() && !board_.unreadable()) return;
  begin_mode(now);
  tell_overwritten(now);
  move_knobs(now);
  if (measuring_hold_) measure_hold(now);
  if (!measuring()) return;
  settled_ = false;  // the measurement starts again once the knobs are back
  ++rewrites_;
}

// A knob that refused what a limit asked for may take it later. Nothing else moves it: what it has
// is what was read back, and nobody else wrote that.
void Controller::step_down_again(Time now) {
  const bool failed = board_.state() != ApplyState::applied;
  if (!settled_ || !steps_down_ || !failed || board_.away()) return;
  if (now - guard_.changed() < kAsksAgain || now - stepped_again_ < kAsksAgain) return;
  stepped_again_ = now;
  begin_mode(now, Route::low_clocks_first);
  move_knobs(now);
}

// What the loader has prefetched still runs: large batches in the mode of small ones may draw more
// than either setting, and the guard would blame the wrong one. So may small ones, as has been seen
// then. A step down waits for nothing.
bool Controller::awaits_lighter_batches() const {
  if (aim_ != Aim::measure && aim_ != Aim::hold) return false;
  return awaits_rest() || roster_.awaits_smaller_batches() ||
         (other_batches_.draw_more() && roster_.awaits_batches());
}

// A minibatch of training runs to its end before it waits, and draws more than requests alone.
bool Controller::awaits_rest() const { return trainer_waits() && !roster_.rests(Kind::train); }

// The mode that waits does not begin, where another is in force. What runs is what is wanted until
// another setting is, so that what comes of it is held against nothing else.
void Controller::keep_mode() {
  if (!mode_waits_ || board_.wanted().count == 0) return;
  mode_waits_ = false;
  wanted_.mode = board_.wanted();
}

void Controller::begin_mode(Time now, Route route) {
  board_.begin(wanted_.mode, now, route);
  mode_begins_ = true;
}

// The guard is told when power may have moved, which is not when the tick began: a policy may have
// thought since, and files were read. While nobody answers who sets the knobs, the change waits:
// that says nothing of the setting.
ApplyState Controller::move_knobs(Time now) {
  if (board_.state() != ApplyState::applying) return board_.state();
  const bool was_away = board_.away();
  if (was_away) {
    begin_mode(now, steps_down_ ? Route::low_clocks_first : Route::direct);
    tell_overwritten(now);
  }
  const ApplyState state = board_.advance(now);
  if (board_.away()) {
    if (!was_away) guard_.rearm_at(now);  // what a step down was to lower stays as it is
    return state;
  }
  if (was_away) {
    applying_since_ = now;
    rearm_limits(now);
  }
  if (!board_.moves()) {
    // All were in place: only a workload that is waited for may bring more power along.
    const bool waits = aim_ == Aim::measure || aim_ == Aim::hold;
    if (waits && mode_begins_ && !roster_.settled()) guard_.keeps_knobs(now);
  } else if (mode_begins_) {
    guard_.changes_at(board_.moved());
  } else {
    guard_.plugs_at(board_.moved());
  }
  mode_begins_ = false;
  return state;
}

// The window still holds readings from before. While the change goes on, and until the window and
// the sensor's own averaging are through, a step down is not judged again.
void Controller::rearm_limits(Time now) {
  // What is answered until it is in force was served by the setting before.
  serving_.rearm_at(now + board_.traits().apply_timeout);
  guard_.rearm_at(steps_down_ ? now + board_.traits().apply_timeout : now);
  guard_.rises(now, steps_down_ ? now : now + kLagWindows * board_.traits().power_window);
  if (steps_down_) guard_.settles_by(now + kLagWindows * board_.traits().power_window);
}

// A command is followed once the batches that a loader has fetched are used up: those who take long
// for one are waited for as long as they go on and may have some left. Whoever has but a part of
// that time waits for so much of it.
bool Controller::may_follow(Time now, Time since, int part) const {
  if (now - since <= options_.workload_timeout / part) return true;
  const auto most_ends = Roster::kMostFetched / static_cast<std::uint32_t>(part);
  return roster_.may_follow(now, since, most_ends, options_.meter.stall_after);
}

// A mode waits no longer than half of the time that a workload has, nor than a request may that
// comes meanwhile: the one in force may be slow. For training to rest it does, unless that keeps
// requests out: a minibatch that takes a second elsewhere may take half a minute in the lowest
// mode.
bool Controller::lets_mode_go(Time now) {
  // Who refused its batch size will not follow: the setting has failed, in the mode before it.
  if (!mode_waits_ || refused_by_workload_) return true;
  bool late = !may_follow(now, applying_since_, 2);
  // Once: what training drew then is not held against the setting.
  const bool keeps_out =
      serving_.answers_none_since(applying_since_) && !excuses_.excused(wanted_, now);
  if (goal_.one_by_one && serving_.limit() && (!awaits_rest() || keeps_out)) {
    late = late || now - applying_since_ > *serving_.limit();
  }
  if (awaits_lighter_batches() && !late) return false;
  mode_waits_ = false;
  begin_mode(now);
  return true;
}

}  // namespace gearshift
