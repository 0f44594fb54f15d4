// The part of the loop that rations how much above the cap a search draws, and how often.
#include "controller/ration.h"

#include <string>

#include "controller/controller.h"

namespace gearshift {
namespace {

// A mean over more than this hides so much of each probe that no search would ever end: there the
// ration counts what readings show.
constexpr Duration kMostHidden = std::chrono::milliseconds(500);
// The first is a mix with the time before the load; its noise is learnt from the others.
constexpr int kMeansUntilKnown = 3;

}  // namespace

// What a search draws above the cap: from a measurement on until its cut has brought power back. A
// cap that fell, and what no mode cures, are not the search's fault.
void Controller::add_to_excess(Time now) {
  const std::optional<std::int64_t> power_mw = guard_.power_mw(now);
  if (!power_mw) {
    ration_.skip(now);
    return;
  }
  const bool fits = lowest_mode_ == LowestMode::fits;
  const bool searches = measuring() || (ration_.probe_is_over() && fits);
  const std::int64_t over_mw = searches && cap_mw_ ? *power_mw - *cap_mw_ : 0;
  const bool is_charged = over_mw > 0 && !follows_outside_write(now);
  ration_.add(now, *power_mw, is_charged ? over_mw : 0);
}

// What was foreseen is over the cap before a reading is, and may be cut before one is.
void Controller::charge_hidden_excess(std::int64_t judged_mw, Time now) {
  if (judged_mw <= guard_.power_mw(now).value_or(0)) return;
  if (board_.traits().power_window > kMostHidden) return;
  // A period for the way back, and one by which cores that came may have been too much before.
  const Duration span = now - guard_.changed() + 2 * options_.period;
  ration_.charge_probe(judged_mw - cap_mw_.value_or(judged_mw), span);
}

// What a probe draws can be told ahead of the mean only from what a load drew before it, and from
// how much its readings differ; those until now were of no load, or of another.
void Controller::await_steady_power(Time now) {
  const Duration averaging = board_.traits().power_averaging;
  if (averaging <= kMostHidden) guard_.clears_at(now + kMeansUntilKnown * averaging);
  guard_.awaits_change(now);
}

// A script that asks for one setting over the cap after the other waits between them.
bool Controller::saves_up(Time now) {
  const bool waited = ration_.waits();
  const std::string_view why = ration_.ask(now);
  if (ration_.waits() && !waited) tell_rationed(why, now);
  return ration_.waits();
}

void Controller::tell_rationed(std::string_view why, Time now) {
  note(NoteType::rationed, now, "the search waits: " + std::string(why),
       guard_.power_mw(now).value_or(0));
}

}  // namespace gearshift
