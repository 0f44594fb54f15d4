// The part of the loop that does what the policy asks: measure, remember, hold.
#include <cmath>
#include <exception>

#include "controller/controller.h"

namespace gearshift {
namespace {

constexpr std::uint32_t kMostRewrites = 3, kMostFailedHolds = 3;

// Of mean power: requests that come one by one make it a quarter, a load that ends meanwhile more.
constexpr double kMostMargin = 0.3;
// A policy pays for answers from memory with its own instruction budget; this is the second line.
constexpr std::uint32_t kMostAnswersATick = 100'000;

bool cut_by_limit(const Observation& observation) {
  return observation.outcome == Outcome::over_limit || observation.outcome == Outcome::late;
}

}  // namespace

PolicyContext Controller::policy_context() const {
  return {.goal = policy_goal(),
          .knobs = &board_.knobs(),
          .modes = board_.traits().modes,
          .workloads = roster_.managed(),
          .observations = memory_.observations(),
          .prior = options_.prior,
          .safe = board_.safe(),
          .seed = options_.seed};
}

void Controller::restart_policy(Time now) {
  late_before_ = false;
  spared_.reset();
  measurements_ = 0;
  tell_unserved_latency(now);
  if (!seek_reference(now)) handle(policy_.start(policy_context()), now);
}

void Controller::handle(Request request, Time now) {
  for (std::uint32_t answers = 0; answers < kMostAnswersATick; ++answers) {
    drain_policy_log(now);
    switch (request.what) {
      case Request::What::hold_safe:
        hold_nothing(nothing_found(), now);
        arm_second_chance(now);
        return;
      case Request::What::failed:
        fail_policy(policy_.failure(), now);
        return;
      case Request::What::hold:
        hold(roster_.normalised(request.setting), now);
        return;
      case Request::What::measure:
      case Request::What::remeasure:
        break;
    }
    const Setting setting = roster_.normalised(request.setting);
    Observation answer;
    const Observation* known = this->known(setting);
    // What a limit has cut short is not tried again under that limit, not even to look again.
    const bool answers_again =
        known != nullptr && (request.what == Request::What::measure || cut_by_limit(*known));
    if (answers_again) {
      answer = *known;
      answer.from_memory = true;
    } else if (const auto objection = roster_.objection(setting)) {
      note(NoteType::knob_failed, now, *objection);
      answer.setting = setting;
      answer.outcome = Outcome::refused;
      answer.from_memory = true;
    } else if (measurements_ == options_.most_measurements) {
      end_search(now);
      return;
    } else {
      ++measurements_;
      apply(setting, Aim::measure, now);
      return;
    }
    request = policy_.resume(answer);
  }
  fail_policy("asked for known settings without an end", now);
}

// The search may measure no more: what it has found so far is what it comes to.
void Controller::end_search(Time now) {
  const std::string why = "the search ends here: its limit is " +
                          std::to_string(options_.most_measurements) + " measurements";
  const Observation* best = best_known();
  if (best == nullptr) {
    hold_nothing(why + ", and none keeps the limits", now);
    arm_second_chance(now);
    return;
  }
  note(NoteType::search_ended, now, why);
  apply(best->setting, Aim::hold, now);
}

// A choice that is known not to fit is not held, however often the policy insists.
void Controller::hold(const Setting& setting, Time now) {
  const Observation* known = this->known(setting);
  const bool fits = known == nullptr || !cap_mw_ || known->within(*cap_mw_);
  const bool late = known != nullptr && known->known_late(goal_.arrivals_per_s);
  if (fits && !late) {
    second_chance_.disarm();
    if (known != nullptr && std::isinf(known->value(goal_))) {
      arm_second_chance(now);
    } else {
      second_chance_.found(now);
    }
    apply(setting, Aim::hold, now);
    return;
  }
  const bool tried = known->ok() || known->outcome == Outcome::over_limit;
  const std::string why = late    ? "the policy's choice is known to answer late"
                          : tried ? "the policy's choice is known not to fit the cap"
                                  : "the policy's choice is known to fail: " +
                                        std::string(outcome_name(known->outcome));
  if (known->failed()) arm_second_chance(now);
  fall_back(now);
  keep_choice(setting, known, wanted_);
  note(NoteType::safe, now, why);
}

void Controller::apply(const Setting& setting, Aim aim, Time now) {
  const bool in_force = setting == wanted_ && settled_;
  if (setting != wanted_) {
    credit_.leave(now);
    relief_.begin();
    serving_.change();
    wanted_since_ = now;
    power_before_mw_ = guard_.power_mw(now).value_or(0);
    most_before_mw_ = guard_.highest_newest_mw(now).value_or(0);
  }
  wanted_ = setting;
  aim_ = aim;
  settled_ = false;
  proofs_ = 0;
  applying_since_ = now;
  rewrites_ = 0;
  seeks_reference_ = false;
  measuring_hold_ = false;
  refused_by_workload_ = false;
  if (aim == Aim::measure) serving_.measure();
  mode_waits_ = workload_waits_ = false;
  const bool asked = aim == Aim::measure || aim == Aim::hold;
  const SetFor set_for = asked                ? SetFor::policy
                         : aim == Aim::relief ? SetFor::requests
                                              : SetFor::limits;
  note(NoteType::setting, now, {}, static_cast<std::int64_t>(set_for));
  if (const auto objection = roster_.objection(setting);
      objection && roster_.any_managed() && aim == Aim::hold) {
    note(NoteType::knob_failed, now, *objection);
    refused_by_workload_ = true;
  } else if (paused_ || halted_ || (duty_.waits() && aim == Aim::safe)) {
    roster_.pause(world_);
  } else {
    if (!roster_.awaits_batches()) other_batches_.begin(now);
    roster_.command(world_, setting);
    other_batches_.ask(setting, now);
    mode_waits_ = awaits_lighter_batches();
  }
  // Clock writes go out in this very tick; only hot-plug is left for the next ones.
  steps_down_ = aim == Aim::fallback || aim == Aim::safe;
  guard_.doubt(aim == Aim::measure && known(setting) == nullptr);
  if (!mode_waits_) {
    begin_mode(now, steps_down_ ? Route::low_clocks_first : Route::direct);
    move_knobs(now);
  }
  // What was stepped down to, and is chosen now, changes nothing: readings may still be of the
  // setting before, and would be blamed on this one.
  if (!board_.away() && (steps_down_ || !in_force)) rearm_limits(now);
}

void Controller::advance(Time now) {
  if (!settled_) {
    if (!lets_mode_go(now)) return;
    const ApplyState state = move_knobs(now);
    if (state == ApplyState::applying) return;
    end_halt(now);
    const bool waits = !roster_.settled() && !refused_by_workload_;
    const bool gives_up = !may_follow(now, applying_since_);
    // A step down does not wait for the workload: the clocks are what counts.
    if (waits && !gives_up && (aim_ == Aim::measure || aim_ == Aim::hold)) {
      guard_.awaits_change(now);
      workload_waits_ = true;
      return;
    }
    if (workload_waits_) guard_.changes_at(now);
    settled_ = true;
    on_settled(waits && gives_up ? ApplyState::timed_out : state, now);
    return;
  }
  if (pending_ != Pending::nothing) {
    continue_pending(now);
    return;
  }
  if (!metering()) return;
  const auto observation = meter_.answer(now);
  if (!observation) return;
  if (measuring()) {
    finish_measurement(*observation, now);
  } else {
    finish_hold_measurement(*observation, now);
  }
}

void Controller::on_settled(ApplyState state, Time now) {
  const std::string_view failure = board_.failure();
  if (state != ApplyState::applied && !failure.empty()) note(NoteType::knob_failed, now, failure);
  note(NoteType::applied, now, {}, (now - applying_since_).count());
  if (steps_down_) {
    guard_.settles_by(now + kLagWindows * board_.traits().power_window);
    guard_.rearm_at(now + 2 * board_.traits().power_window + options_.period);
    guard_.clears_at(now + 2 * board_.traits().power_averaging);
  }
  if (aim_ == Aim::fallback || aim_ == Aim::relief || aim_ == Aim::safe) {
    if (serving_.limit()) serving_.rearm_at(now + *serving_.limit());
    if (roster_.any_managed()) measure_hold(now);
    return;
  }
  if (state == ApplyState::timed_out &&
      (await_reports(Outcome::timed_out, now) || withdraw_ignored(now))) {
    return;
  }
  if (aim_ == Aim::measure) {
    if (rewrites_ > kMostRewrites) {
      cut_measurement(Outcome::outside_writer, now);
    } else if (refused_by_workload_ || state == ApplyState::refused) {
      cut_measurement(Outcome::refused, now);
    } else if (state == ApplyState::not_applied) {
      cut_measurement(Outcome::not_applied, now);
    } else if (state == ApplyState::timed_out) {
      cut_measurement(Outcome::timed_out, now);
    } else {
      // Those that had queued up before are late whatever serves them.
      serving_.rearm_at(now + (late_before_ ? serving_.limit().value_or(Duration{}) : Duration{}));
      late_before_ = false;
      begin_meter(now);
      return;
    }
    // The policy meets the failure as an answer, within the same tick.
    take_answer(pending_answer_, now);
    return;
  }
  if (aim_ != Aim::hold) return;
  if (state != ApplyState::applied || refused_by_workload_) {
    on_hold_failed(state, now);
    return;
  }
  record_hold(now);
}

void Controller::record_hold(Time now) {
  failed_holds_ = 0;
  credit_.hold(wanted_, now);
  serving_.hold(wanted_, now);
  note(NoteType::hold, now, {});
  keep_choice(wanted_, known(wanted_), std::nullopt);
  measure_hold(now);
}

// `known`: what the choice costs, null where nobody knows; `instead`: what a limit put in its
// place.
void Controller::keep_choice(const Setting& setting, const Observation* known,
                             const std::optional<Setting>& instead) {
  Choice choice{.cap_mw = cap_mw_.value_or(0),
                .goal = goal_,
                .setting = setting,
                .observation = {},
                .held_instead = instead != setting ? instead : std::nullopt};
  if (known != nullptr) choice.observation = *known;
  summary_.keep(choice);
}

void Controller::begin_meter(Time now) {
  meter_.begin(wanted_, roster_.expected(wanted_, serving_.counted_per_s()), now);
}

// What is held is measured back to back, so that a change of the world shows.
void Controller::measure_hold(Time now) {
  measuring_hold_ = true;
  hold_measured_since_ = now;
  begin_meter(now);
}

// A choice that nobody had measured is an observation like others. What repeats one says only
// whether the world is still the same: it is neither kept nor recorded, or a night of holding would
// fill the memory with one setting.
void Controller::finish_hold_measurement(Observation observation, Time now) {
  if (measures_again(observation, now)) return;
  observation.limit_mw = cap_mw_.value_or(0);
  observation.duration = now - hold_measured_since_;
  const auto alarm = drift_.add(observation);
  if (alarm) {
    enter_new_world(*alarm, observation, now);
    restart_policy(now);
    return;
  }
  // What is held in a choice's stead was not chosen.
  Choice* const choice = aim_ == Aim::hold ? &summary_.choices.back() : nullptr;
  const bool known = choice == nullptr || (choice->observation && choice->observation->ok());
  const bool stalls_again = choice != nullptr && choice->observation && !observation.ok();
  // Whoever is busy with something else says nothing of the choice.
  const bool silent = !observation.ok() &&
                      roster_.find_silent(now, hold_measured_since_, options_.meter.stall_after);
  if (!known && !stalls_again && !silent) {
    observation.duration = now - applying_since_;
    choice->observation = observation;
    keep_observation(observation, now);
  }
  measure_hold(now);
}

// Another program that began or ended to work meanwhile leaves a mean that is no setting's, and a
// margin that no cap has room for; a process that was stopped, or wrote a checkpoint, one minibatch
// that makes the mean of all. So the first such result counts for nothing, and the setting is
// measured again at once; what varies by itself does so the second time too.
bool Controller::measures_again(const Observation& observation, Time now) {
  const double most_mw = kMostMargin * static_cast<double>(observation.power_mean_mw);
  const bool varies = static_cast<double>(observation.power_margin_mw) > most_mw;
  if (!observation.ok() || !(varies || meter_.scatters(now))) return false;
  if (!second_looks_.excuse(observation.setting, now)) return false;
  begin_meter(now);
  return true;
}

void Controller::keep_observation(const Observation& observation, Time now) {
  ++summary_.measurements;
  recorder_.note({.type = NoteType::observation,
                  .time = now,
                  .setting = &wanted_,
                  .observation = &observation});
  remember(observation);
}

// The repeat that shows the change is the first that is known of the world as it is now: a search
// need not go back to the safe mode where what is in force keeps the limits.
void Controller::enter_new_world(const DriftAlarm& alarm, const Observation& repeat, Time now) {
  forget_world(alarm, now);
  keep_observation(repeat, now);
}

void Controller::on_hold_failed(ApplyState state, Time now) {
  Observation failed;
  failed.setting = wanted_;
  failed.outcome = refused_by_workload_ || state == ApplyState::refused ? Outcome::refused
                   : state == ApplyState::not_applied                   ? Outcome::not_applied
                                                                        : Outcome::timed_out;
  remember(failed);
  if (++failed_holds_ >= kMostFailedHolds) {
    failed_holds_ = 0;
    hold_safe("the policy's choice could not be applied", now);
    arm_second_chance(now);
    return;
  }
  restart_policy(now);
}

void Controller::finish_measurement(Observation observation, Time now) {
  if (observation.outcome == Outcome::stalled && await_reports(observation.outcome, now)) return;
  if (measures_again(observation, now)) return;
  observation.limit_mw = cap_mw_.value_or(0);
  observation.duration = now - applying_since_;
  if (const auto alarm = drift_.add(observation)) {
    enter_new_world(*alarm, observation, now);
    restart_policy(now);
    return;
  }
  keep_observation(observation, now);
  if (outgrows_reference()) {
    forget_reference();
    restart_policy(now);
    return;
  }
  take_answer(observation, now);
}

void Controller::fail_policy(std::string_view what, Time now) {
  ++summary_.policy_errors;
  note(NoteType::policy_error, now, what);
  hold_safe("the policy failed", now);
}

}  // namespace gearshift
