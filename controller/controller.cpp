#include "controller/controller.h"

#include <algorithm>

namespace gearshift {
namespace {

// Cores go one a tick, and take about so long each: eight of them a period apart would leave a mode
// that fits the cap over it for most of a second. Cores that come are in no hurry, and bring clocks
// of their own, which a board may show a moment later.
constexpr Duration kApplyPace = std::chrono::milliseconds(20);

}  // namespace

Controller::Controller(World& world, Board& board, Policy& policy, Recorder& recorder,
                       std::span<LimitSource* const> limits, ControllerOptions options)
    : world_(world),
      board_(board),
      policy_(policy),
      recorder_(recorder),
      sources_(limits),
      options_(options),
      meter_(options.meter, board.traits().power_window, board.traits().power_rounding_mw,
             board.traits().power_counts),
      guard_(board.traits().power_window, board.traits().stale_after,
             board.traits().power_averaging, board.traits().power_rounding_mw),
      duty_(2 * board.traits().power_window, kLagWindows * board.traits().power_window),
      checkpoint_(options.checkpoint_timeout),
      goal_(options.goal) {
  events_.reserve(2 * kMaxEventsPerTick);
  readings_.reserve(64);
  goal_.power_mw.reset();
}

void Controller::run() {
  events_.clear();
  Time deadline = world_.wait_until(Time{}, events_);
  started_ = deadline;
  guard_.start(deadline);
  bool first = true;
  bool late = false;  // the newest tick: where each one is, a gap is told once
  while (true) {
    // The first tick consumes what had arrived before it.
    const bool hurries = steps_down_ && board_.state() == ApplyState::applying && !board_.away();
    const bool looks_closely = guard_.wants_readings(newest_tick_);
    board_.look_closely(looks_closely);
    const Duration pace = hurries ? kApplyPace : looks_closely ? kClosePeriod : options_.period;
    const Time next = std::min(deadline, newest_tick_ + pace);
    const Time now = first ? deadline : world_.wait_until(next, events_);
    glances_ = looks_closely && now < deadline;
    const Time before = first || late ? now : newest_tick_;
    late = !first && now - newest_tick_ >= kGap;
    newest_tick_ = now;
    first = false;
    const bool go_on = tick(now, before);
    events_.clear();
    summary_.duration = now - started_;
    summary_.goal = goal_;
    if (!go_on) {
      if (!summary_.baseload_mw && baseload_count_ > 0) {  // no workload came
        summary_.baseload_mw = baseload_sum_mw_ / baseload_count_;
      }
      return;
    }
    // Periods that were missed are skipped, not made up for.
    if (deadline <= now) deadline += options_.period * ((now - deadline) / options_.period + 1);
  }
}

bool Controller::tick(Time now, Time before) {
  readings_.clear();
  board_.read(now, readings_);
  recorder_.tick({now, events_, readings_});
  tell_gap(before, now);
  consume_readings();
  // Limits come first: a workload that attaches in the same tick starts under the cap it will have.
  for (const Event& event : events_) sources_.consume(event);
  update_cap(now);
  for (const Event& event : events_) {
    if (!consume(event, now)) return false;
  }
  add_to_baseload(now);
  enforce(now);
  add_to_excess(now);
  enforce_latency(now);
  if (second_chance_.due(now)) try_again(now);
  if (!glances_) {
    watch_knobs(now);
    advance(now);
  }
  publish(now);
  if (options_.duration && now - started_ >= *options_.duration) {
    note(NoteType::stop, now, "the given duration is over");
    return false;
  }
  return true;
}

// The clock counts what the machine slept. What was read before is stale then, and clients are
// found silent: both follow from their own times. That nothing was guarded meanwhile is told here.
void Controller::tell_gap(Time before, Time now) {
  if (now - before < kGap) return;
  ration_.skip(now);  // nobody read what was drawn
  // What took so long was not the board, and the guardian may have set other knobs meanwhile.
  if (board_.state() == ApplyState::applying) begin_mode(now);
  note(NoteType::gap, now,
       "the machine was suspended, the process stopped, or a read or a write blocked",
       (now - before).count());
}

void Controller::consume_readings() {
  for (const Reading& reading : readings_) {
    sources_.read(reading);
    battery_.add(reading);
    if (reading.quantity != Quantity::power) continue;
    guard_.add(reading);
    if (reading.state != ReadingState::ok) continue;
    if (metering()) meter_.add(reading);
  }
}

// Idle power, read while no workload has come yet. The first window may still hold what ran before.
void Controller::add_to_baseload(Time now) {
  if (roster_.attached() > 0 || summary_.baseload_mw) return;
  if (now - started_ < board_.traits().power_window) return;
  for (const Reading& reading : readings_) {
    if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) continue;
    baseload_sum_mw_ += reading.value;
    ++baseload_count_;
  }
}

bool Controller::consume(const Event& event, Time now) {
  switch (event.type) {
    case EventType::attached:
      on_attached(event.workload, now);
      break;
    case EventType::detached:
      on_detached(event, now);
      break;
    case EventType::minibatch:
      on_minibatch(event.minibatch);
      break;
    case EventType::requests:
      on_requests(event.requests, now);
      break;
    case EventType::applied:
      roster_.applied(event);
      judge_without_larger(now);
      break;
    case EventType::refused:
      on_refused(event, now);
      break;
    case EventType::saved:
    case EventType::unsaved:
      take_saved(event, now);
      break;
    case EventType::cap:
      break;  // the operator's LimitSource has consumed it
    case EventType::goal:
      change_goal(event.goal, now);
      break;
    case EventType::script_changed:
      reload_script(now);
      break;
    case EventType::stop:
      note(NoteType::stop, now, event.text.view(), event.signal);
      return false;
  }
  return true;
}

void Controller::on_attached(const Workload& workload, Time now) {
  if (roster_.attached() == 0 && !summary_.baseload_mw && baseload_count_ > 0) {
    summary_.baseload_mw = baseload_sum_mw_ / baseload_count_;
    note(NoteType::baseload, now, {}, *summary_.baseload_mw);
  }
  recorder_.note({.type = NoteType::attached,
                  .time = now,
                  .workload = workload.handle,
                  .value = workload.managed,
                  .text = workload.name.view()});
  checkpoint_.attach(workload);
  const bool none_ran = !roster_.any_managed();
  if (!roster_.attach(workload)) return;
  if (workload.kind == Kind::infer) meet_server(&workload);
  follow_default_objective(now);
  lowest_mode_ = LowestMode::fits;
  await_steady_power(now);
  if (workload.pid > 0) act_on(workload.pid, workload.kind, now);
  if (measuring()) cut_measurement(Outcome::workload_changed, now);
  keep_what_is_theirs();
  pending_ = Pending::restart;
  include_all(now);
  if (none_ran) tell_wait(now);
  // It may have drawn more than the cap before it was known here.
  const bool over = cap_mw_ && guard_.power_mw(now).value_or(0) > *cap_mw_;
  if (over && aim_ == Aim::safe && settled_ && !paused_ && !halted_) make_batches_smaller(now);
}

void Controller::act_on(std::int32_t pid, Kind kind, Time now) {
  try {
    board_.manage(pid, kind);
  } catch (const KnobError& error) {
    note(NoteType::knob_failed, now, error.what());
  }
}

// Why the first that came does not run, or the search does not go on: what was told before is that
// no workload runs.
void Controller::tell_wait(Time now) {
  if (paused_) {
    hold_paused(now);
  } else if (ration_.waits()) {
    const std::string_view why = ration_.ask(now);
    if (!why.empty()) tell_rationed(why, now);
  }
}

// Until the policy has been asked, what is in force says of everybody who is here now that it runs:
// one that came does, and one that waited for another that has left is to.
void Controller::include_all(Time now) {
  if (aim_ == Aim::nothing) return;
  wanted_ = roster_.with_all(wanted_);
  if (!paused_ && !halted_ && !duty_.waits()) let_run(wanted_, now);
}

// What was measured of other workloads says nothing of those that are here now; and one that came
// back under its name may offer other batch sizes than it did.
void Controller::keep_what_is_theirs() {
  if (!memory_.keep_for(roster_.key())) forget_beside_memory();
  if (own_batches() != reference_batches_) forget_reference();
  const auto offered = [this](const Setting& setting) { return !roster_.objection(setting); };
  memory_.offer(offered);
  relief_.offer(offered);
}

void Controller::on_detached(const Event& event, Time now) {
  recorder_.note({.type = NoteType::detached,
                  .time = now,
                  .workload = event.handle,
                  .text = event.text.view()});
  checkpoint_.detach(event.handle);
  const Workload* server = roster_.managed(Kind::infer);
  const bool serves = server != nullptr && server->handle == event.handle;
  // Who fell silent, or was put out, may work on: what held it holds it still.
  for (const Workload* workload : roster_.managed()) {
    const bool left = workload != nullptr && workload->handle == event.handle;
    const bool goes = left && event.text.view() == kSaidBye;
    if (goes && workload->pid > 0) act_on(0, workload->kind, now);
  }
  if (!roster_.detach(event.handle)) return;
  if (serves) meet_server(nullptr);
  follow_default_objective(now);
  if (measuring()) cut_measurement(Outcome::workload_changed, now);
  if (roster_.any_managed()) {
    keep_what_is_theirs();
    pending_ = Pending::restart;
    include_all(now);
    return;
  }
  // Idle in the lowest mode, and remember what is known in case it comes back.
  pending_ = Pending::nothing;
  hold_safe("no workload runs", now);
}

void Controller::on_minibatch(const Minibatch& minibatch) {
  const Workload* managed = roster_.managed(minibatch.kind);
  if (managed == nullptr || managed->handle != minibatch.workload) return;
  roster_.add(minibatch);
  ledger_.add(minibatch, managed->samples_per_epoch);
  newest_minibatch_[index(minibatch.kind)] = minibatch.elapsed;
  if (Meter::counts(minibatch, wanted_)) serving_.fill(minibatch);
  if (settled_) serving_.add(minibatch);
  if (metering()) meter_.add(minibatch);
  if (completes_cut()) cut_meter_->add(minibatch);
}

void Controller::reload_script(Time now) {
  Request request;
  try {
    request = policy_.replace(world_.script(), policy_context());
  } catch (const std::runtime_error& error) {
    ++summary_.policy_errors;
    note(NoteType::policy_reload, now, std::string("kept the old script: ") + error.what());
    return;
  }
  note(NoteType::policy_reload, now, "reloaded");
  if (!roster_.any_managed()) return;
  if (measuring()) cut_measurement(Outcome::goal_changed, now);
  const bool stepping_down = aim_ == Aim::fallback || aim_ == Aim::relief ||
                             (aim_ == Aim::safe && pending_ != Pending::nothing);
  if (stepping_down || power_lost_ || needs_reference()) {
    pending_ = Pending::restart;
    return;
  }
  measurements_ = 0;
  handle(request, now);
}

void Controller::remember(const Observation& observation) {
  sources_.learn(observation);
  if (!memory_.add(observation)) pending_ = Pending::restart;
}

Phase Controller::phase() const {
  if (!roster_.any_managed()) return Phase::waiting;
  if (paused_ || halted_) return Phase::paused;
  if (checkpoint_.pending()) return Phase::saving;
  const bool over = lowest_mode_ == LowestMode::over;
  if (duty_.active()) return over ? Phase::resting : Phase::applying;
  if (!settled_ || board_.away()) return Phase::applying;
  if (aim_ == Aim::measure) return Phase::measuring;
  if (pending_ != Pending::nothing) {
    if (ration_.waits() && !power_lost_ && !over) return Phase::rationed;
    if (roster_.silent() && aim_ != Aim::hold) return Phase::waiting;
  }
  return aim_ == Aim::hold ? Phase::holding : Phase::safe;
}

void Controller::publish(Time now) {
  const auto power = guard_.power_mw(now);
  ledger_.tick(now, power, cap_mw_ && is_power(*cap_mw_) ? cap_mw_ : std::nullopt);
  Status status;
  status.time = now;
  status.phase = phase();
  status.power_known = power.has_value() && !power_lost_;
  status.power_mw = power.value_or(0);
  status.power_is_estimate = guard_.estimates();
  status.cap_mw = cap_mw_.value_or(0);
  status.cap_source = BoundedText<32>(sources_.cap().source);
  status.goal = goal_;
  status.requests = serving_.newest();
  status.battery = battery_;
  status.setting = wanted_;
  status.minibatch = newest_minibatch_;
  status.workloads = roster_.attached();
  status.measurements = summary_.measurements;
  status.repeats = drift_.repeats();
  status.drifts = summary_.drifts;
  world_.publish(status);
  recorder_.status(status);
}

void Controller::drain_policy_log(Time now) {
  for (std::string line = policy_.take_log(); !line.empty(); line = policy_.take_log()) {
    note(NoteType::policy_log, now, line);
  }
}

void Controller::note(NoteType type, Time now, std::string_view text, std::int64_t value) {
  recorder_.note({.type = type, .time = now, .value = value, .setting = &wanted_, .text = text});
}

}  // namespace gearshift
