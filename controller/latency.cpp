// The part of the loop that answers requests in time whatever the policy says: the rate at which
// they arrive, and what is done at once where they are late.
#include <algorithm>
#include <cstdio>

#include "controller/controller.h"

namespace gearshift {
namespace {

// Requests that are served in batches less than half full, in batches, until the batch size is held
// to be too large to fill in time.
constexpr std::int64_t kUnfilledBatches = 4;
// What a board draws at rest, of what it does at work in the same mode: a guess, so that what comes
// of it must be somewhat below the cap.
constexpr double kIdlePower = 0.5;
constexpr double kGuessed = 0.95;
// Even a batch of one waits no longer than half the limit at the rate that is planned for: below
// it, requests do not wait for each other.
constexpr double kFewestInALimit = 2;

std::string late_text(const RequestReport& report, Duration limit, const char* then) {
  char text[192];
  std::snprintf(text, sizeof text, "p99 %.1f ms of %.1f ms, %u late among %u%s",
                1e3 * seconds(report.latency_p99), 1e3 * seconds(limit), report.late,
                report.served + report.refused, then);
  return text;
}

}  // namespace

// A server came, or left: what was known of its requests is another one's.
void Controller::meet_server(const Workload* server) {
  arrivals_.forget();
  goal_ = beside_server(goal_, options_.goal, server == nullptr ? Duration{} : server->latency);
  latency_.set_limit(server == nullptr ? std::nullopt : goal_.latency);
  reports_requests_ = server != nullptr && server->latency > Duration::zero();
  unserved_ = false;
  unserved_plan_mw_.reset();
  relief_.forget();
}

void Controller::on_requests(const RequestReport& report, Time now) {
  const Workload* server = roster_.managed(Kind::infer);
  if (server == nullptr || server->handle != report.workload) return;
  reports_requests_ = true;
  ledger_.add(report);
  latency_.add(report);
  const bool judged = settled_ && latency_.judges(report);
  if (judged && measuring()) unfilled_ += report.served;
  if (judged) relief_.add(report.served + report.refused, report.late);
  if (judged) {
    const std::uint32_t in_time = report.served - std::min(report.served, report.late);
    if (aim_ == Aim::hold) late_credit_.answered(in_time);
    stall_credit().answered(in_time, arrivals_.per_s());
  }
  if (arrivals_.add(report)) update_arrivals(now);
}

void Controller::update_arrivals(Time now) {
  double per_s = arrivals_.per_s();
  if (goal_.latency) per_s = std::max(per_s, kFewestInALimit / seconds(*goal_.latency));
  if (per_s == goal_.arrivals_per_s && goal_.one_by_one) return;
  if (per_s > goal_.arrivals_per_s) relief_.forget_shares();
  goal_.arrivals_per_s = per_s;
  goal_.one_by_one = true;
  drift_.change_requests();
  forget_credits();
  second_chance_.reset();
  relief_.forget_end();
  char text[64];
  std::snprintf(text, sizeof text, "%.4g requests a second", per_s);
  note(NoteType::arrivals, now, text);
  unserved_ = false;
  unserved_plan_mw_.reset();
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

// Nothing can be learnt of inference while nobody asks, and nothing be chosen before the rate is
// known.
bool Controller::awaits_requests(Time now) const {
  return reports_requests_ && latency_.limit() && roster_.managed(Kind::infer) != nullptr &&
         (arrivals_.silent(now) || goal_.arrivals_per_s <= 0);
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
  if (measuring() && settled_ && awaits_requests(now)) {
    cut_measurement(Outcome::goal_changed, now);
    fall_back(now);
    pending_ = Pending::restart;
    return;
  }
  if (settled_ && awaits_requests(now) && trainer_waits()) {
    // Nobody asks any more: there is no reason left to wait.
    unserved_ = false;
    fall_back(now);
    if (trainer_waits()) apply(safe_setting(), Aim::safe, now);
    pending_ = Pending::restart;
    return;
  }
  const std::int64_t most_unfilled = kUnfilledBatches * wanted_.batch_size[index(Kind::infer)];
  if (measuring() && settled_ && unfilled_ > most_unfilled) {
    note(NoteType::late, now, "the batch is never half full in time");
    cut_measurement(Outcome::late, now);
    take_answer(pending_answer_, now);
    return;
  }
  // The guard of power is at work: its steps go first.
  const bool steps_down = !settled_ && (aim_ == Aim::fallback || aim_ == Aim::safe);
  // Nothing draws less than the lowest mode: before power is back within the cap nothing else may.
  const bool over = aim_ == Aim::safe && !guard_.recovered(now);
  prove_relief(now);
  if (latency_.recovered(now)) late_since_.reset();
  if (latency_.near() && !steps_down && !over) on_late(now);
}

void Controller::on_late(Time now) {
  if (proves_relief(now)) {
    if (!late_since_) late_since_ = now;
    latency_.rearm_at(now);
    return;
  }
  const RequestReport& report = latency_.newest();
  const Duration limit = *latency_.limit();
  const bool stalled = stalls_.explain(report, limit);
  if (stalled && stall_credit().pays(report.late, arrivals_.per_s())) {
    note(NoteType::late, now,
         late_text(report, limit, ": a minibatch stalled, and no longer does"));
    latency_.rearm_at(now);
    return;
  }
  if (!late_since_) late_since_ = now;
  if (!unserved_) {
    note(NoteType::late, now, late_text(report, limit, ""));
    ++summary_.latency_steps;
  }
  const double rate =
      std::max(goal_.arrivals_per_s, report.arrived / std::max(1e-3, seconds(report.span)));
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
    blame(report.late, stalled, rate);
    // A policy that found no setting, or failed, is not asked again for that.
    if (pending_ == Pending::nothing && aim_ == Aim::hold) pending_ = Pending::restart;
  }
  relieve(rate, now);
}

void Controller::forget_credits() {
  late_credit_.forget();
  held_credit_.forget();
  other_credit_.forget();
}

// That of the setting in force.
StallCredit& Controller::stall_credit() {
  StallCredit& credit = aim_ == Aim::hold ? held_credit_ : other_credit_;
  credit.hold(wanted_);
  return credit;
}

// What is held was measured, and found to answer in time: once may be an accident, if it was no
// stall, whose accidents have been counted.
void Controller::blame(std::uint32_t late, bool stalled, double arrivals_per_s) {
  if (aim_ == Aim::relief) return;
  const bool accident = aim_ == Aim::hold && !stalled && late_credit_.pays(late);
  if (aim_ == Aim::hold && !accident) memory_.mark_late(wanted_, arrivals_per_s);
  late_setting_ = wanted_;
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

// Training waits, in the setting that is known to draw the least: inference alone is busy for its
// share of the time only.
std::optional<Setting> Controller::serving_alone() const {
  if (!goal_.one_by_one || !latency_.limit() || !cap_mw_) return std::nullopt;
  Goal uncapped = goal_;
  uncapped.power_mw.reset();
  const Observation* least = memory_.least_power_serving(uncapped);
  if (least == nullptr) return std::nullopt;
  const double busy = goal_.arrivals_per_s * least->sample_s(Kind::infer);
  const double most_mw =
      static_cast<double>(least->power_mean_mw) * (kIdlePower + (1 - kIdlePower) * busy);
  if (most_mw > kGuessed * static_cast<double>(*cap_mw_)) return std::nullopt;
  Setting setting = least->setting;
  setting.run = Run::infer;
  if (roster_.objection(setting)) return std::nullopt;
  return setting;
}

}  // namespace gearshift
