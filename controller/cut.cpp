// The part of the loop that ends a measurement before its answer is known.
#include <optional>

#include "controller/controller.h"

namespace gearshift {

// Ends the running measurement without a cost. What depends on the setting itself is remembered;
// a partial result never is.
void Controller::cut_measurement(Outcome outcome, Time now) {
  Observation observation;
  observation.setting = wanted_;
  observation.outcome = outcome;
  observation.limit_mw = cap_mw_.value_or(0);
  observation.duration = now - applying_since_;
  const bool partial = outcome == Outcome::goal_changed || outcome == Outcome::workload_changed ||
                       outcome == Outcome::power_unknown;
  if (outcome == Outcome::late) {
    observation.late_per_s = goal_.arrivals_per_s;
    // What the meter knows until the setting is in force is of the one before.
    cut_meter_ = settled_ ? std::optional(meter_) : std::nullopt;
    if (cut_meter_) observation.cost = cut_meter_->so_far();
  }
  if (!partial) {
    ++summary_.measurements;
    remember(observation);
  }
  recorder_.note({.type = NoteType::observation,
                  .time = now,
                  .setting = &wanted_,
                  .observation = &observation});
  pending_answer_ = observation;
  aim_ = Aim::fallback;
  keep_mode();
}

// The cap fell. Where it leaves the lowest mode alone, what is in force, and nobody knows, may have
// brought that about: what it was seen to draw is then over any lower cap, and without that it
// would be asked for again each time that the cap is back.
void Controller::cut_by_cap(Time now) {
  const std::int64_t power_mw = guard_.newest_mw().value_or(0);
  const bool unknown = aim_ != Aim::nothing && known(wanted_) == nullptr;
  if (is_power(*cap_mw_) || !unknown || power_mw <= 0 || may_be_before(power_mw, now)) {
    if (measuring()) cut_measurement(Outcome::goal_changed, now);
    return;
  }
  Observation cut;
  cut.setting = wanted_;
  cut.outcome = Outcome::over_limit;
  cut.power_mean_mw = cut.power_max_mw = power_mw;
  cut.power_is_estimate = guard_.estimates();
  cut.limit_mw = power_mw - 1;
  cut.duration = now - applying_since_;
  keep_observation(cut, now);
  aim_ = Aim::fallback;
  keep_mode();
}

bool Controller::completes_cut() const {
  return cut_meter_ && pending_ == Pending::resume && pending_answer_.outcome == Outcome::late &&
         wanted_.mode == pending_answer_.setting.mode;
}

void Controller::complete_cut() {
  if (pending_answer_.outcome != Outcome::late || !cut_meter_) return;
  pending_answer_.cost = cut_meter_->so_far();
  memory_.set_cost(pending_answer_.setting, pending_answer_.cost);
}

}  // namespace gearshift
