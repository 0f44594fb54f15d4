// The part of the loop that has work saved, and then stops it, where a limit leaves no power for
// it, and that stops it where power is over the cap and nobody answers who could step down.
#include <cstdio>
#include <utility>

#include "controller/controller.h"

namespace gearshift {
namespace {

std::string seconds_text(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds(duration));
  return text;
}

}  // namespace

// Nothing draws less than the safe mode without work, so that there is no cap to hold meanwhile.
void Controller::update_pause(Time now) {
  paused_ = !paused_;
  guard_.set_cap(paused_ ? std::nullopt : cap_mw_);
  if (!paused_) {
    pending_ = Pending::restart;
    // The policy may not be asked for long: until requests come, or power is known.
    if (!halted_) let_run(safe_setting(), now);
    update_goal(now);
    return;
  }
  goal_pending_ = false;
  ration_.end_probe();
  if (!roster_.any_managed()) return;
  if (measuring()) cut_measurement(Outcome::goal_changed, now);
  hold_paused(now);
  pending_ = Pending::restart;
}

void Controller::hold_paused(Time now) {
  const std::string source(sources_.cap().source);
  hold_safe("the workloads wait: " + source + " leaves no power for them", now);
}

// A helper that is killed leaves the board as it was found, which may draw more than the cap by
// far. Whoever came since waits too.
void Controller::halt(Time now) {
  if (!std::exchange(halted_, true)) {
    const std::string_view waits = roster_.any_managed() ? ": the workloads wait" : "";
    note(NoteType::over_cap, now, "no knob can be set now to step down" + std::string(waits),
         guard_.judged_mw(now).value_or(0));
  }
  roster_.pause(world_);
}

// What was wanted is in force, or was refused by somebody who answers: the guard can act again.
void Controller::end_halt(Time now) {
  if (!std::exchange(halted_, false) || paused_) return;
  let_run(roster_.with_batches(wanted_), now);
}

// Where another kind came meanwhile that cannot run so, the policy is asked anew.
void Controller::let_run(const Setting& setting, Time now) {
  if (!roster_.objection(setting)) roster_.command(world_, setting);
  if (settled_ && measuring_hold_) measure_hold(now);
}

// A measurement beside a save would be one of the save.
void Controller::ask_to_save(Time now) {
  if (!paused_) {
    const auto& asked = checkpoint_.ask(world_, now);
    if (!asked.empty()) {
      if (measuring()) cut_measurement(Outcome::goal_changed, now);
      measuring_hold_ = false;
      pending_ = Pending::restart;
    }
    for (const WorkloadHandle workload : asked) {
      note_checkpoint(
          NoteType::checkpoint, workload,
          "power ends soon: asked to save its work within " + seconds_text(checkpoint_.timeout()),
          now);
    }
  }
  while (const auto overdue = checkpoint_.take_overdue(now)) {
    note_checkpoint(NoteType::unsaved, *overdue,
                    "has not saved its work within " + seconds_text(checkpoint_.timeout()), now);
  }
}

void Controller::take_saved(const Event& event, Time now) {
  if (!checkpoint_.answer(event)) return;
  const bool saved = event.type == EventType::saved;
  note_checkpoint(
      saved ? NoteType::checkpoint : NoteType::unsaved, event.handle,
      (saved ? "saved its work in " : "could not save its work: ") + std::string(event.text.view()),
      now);
}

void Controller::note_checkpoint(NoteType type, WorkloadHandle workload, std::string_view text,
                                 Time now) {
  recorder_.note({.type = type, .time = now, .workload = workload, .text = text});
}

}  // namespace gearshift
