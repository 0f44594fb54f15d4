#include "controller/rationale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "controller/set_aside.h"

namespace gearshift {
namespace {

constexpr const char* kLate = "requests were late";

// The goal under another cap; 0: none.
Goal capped(Goal goal, std::int64_t cap_mw) {
  goal.power_mw = cap_mw > 0 ? std::optional(cap_mw) : std::nullopt;
  return goal;
}

// An end of the measurement that says nothing of the setting.
bool says_nothing(Outcome outcome) {
  return outcome == Outcome::goal_changed || outcome == Outcome::workload_changed;
}

}  // namespace

std::string_view holding_name(Holding holding) {
  constexpr std::array<std::string_view, 5> kNames = {"nothing", "choice", "best", "safe",
                                                      "fallback"};
  return kNames[static_cast<std::size_t>(holding)];
}

std::int64_t needed_power_mw(const Observation& observation) {
  return observation.power_mean_mw + observation.power_margin_mw;
}

void Rationale::consume(const Event& event) {
  if (event.type == EventType::attached) {
    roster_.attach(event.workload);
  } else if (event.type == EventType::detached) {
    roster_.detach(event.handle);
  } else {
    return;
  }
  // Costs are those of the workloads that ran together. Who left alone may come back.
  const std::string key = roster_.key();
  if (key.empty()) return;
  // Of two, who stays ran beside who left: what was tried of both is told until something is of the
  // one alone.
  if (event.type == EventType::detached) {
    one_left_ = one_left_ || key != key_;
    return;
  }
  if (key != key_ || one_left_) forget();
  key_ = key;
  // One that came back under its name may offer other batch sizes than it did.
  set_aside(tried_, aside_, kMostTried,
            [this](const Tried& one) { return !roster_.objection(one.observation.setting); });
}

void Rationale::forget() {
  one_left_ = false;
  tried_.clear();
  aside_.clear();
}

void Rationale::note(const Note& note) {
  switch (note.type) {
    case NoteType::goal:
      if (note.value > 0 && (cap.power_mw == 0 || note.value < cap.power_mw)) {
        begin_step(note, "the cap fell");
      }
      cap = {note.value, std::string(note.text), note.time};
      return;
    case NoteType::observation:
      if (note.observation != nullptr) take(*note.observation);
      return;
    case NoteType::over_cap:
      begin_step(note, "power was over the cap");
      return;
    case NoteType::late:
      begin_step(note, kLate);
      if (note.setting != nullptr && note.value > 0) mark_late(note);
      return;
    case NoteType::setting:
      if (note.setting != nullptr) begin(note);
      return;
    case NoteType::rationed:
      if (note.setting != nullptr) wait(note);
      return;
    case NoteType::search_ended:
      search_end_ = note.text;
      return;
    case NoteType::hold: {
      if (note.setting == nullptr) return;
      const bool ended = !search_end_.empty();
      hold(ended ? Holding::best : Holding::choice, note,
           ended ? std::exchange(search_end_, {}) : "the policy chose it");
      return;
    }
    case NoteType::safe:
      if (note.setting == nullptr) return;
      hold(is_safe(*note.setting) ? Holding::safe : Holding::fallback, note,
           std::string(note.text));
      return;
    case NoteType::plan:
      plan = note.text;
      return;
    case NoteType::temperature:
      heat = note.value > 0 ? note.text : std::string_view();
      return;
    case NoteType::drift:
      forget();
      return;
    default:
      return;
  }
}

void Rationale::hold(Holding holding, const Note& note, std::string why) {
  held = {holding, *note.setting, note.time, std::move(why), std::nullopt};
  if (predict_) held.predicted = predict_(*note.setting);
  stands_in_ = false;
}

void Rationale::stand_in(const Note& note, std::string why) {
  hold(is_safe(*note.setting) ? Holding::safe : Holding::fallback, note, std::move(why));
  stands_in_ = true;
}

void Rationale::begin_step(const Note& note, std::string why) {
  stepped_at_ = note.time;
  step_why_ = std::move(why);
  step_is_sure_ = note.type == NoteType::over_cap;
}

// A change begins.
void Rationale::begin(const Note& note) {
  const auto set_for = static_cast<SetFor>(note.value);
  const bool steps = !step_why_.empty() && note.time == stepped_at_;
  const bool set_again = held.holding != Holding::nothing && held.setting == *note.setting;
  if (!steps && set_again && (stands_in_ || set_for >= SetFor::limits)) return;
  const bool stands_in = set_for == SetFor::untold ? seems_to_stand_in(*note.setting, steps)
                                                   : set_for != SetFor::policy;
  if (stands_in) {
    stand_in(note, steps                         ? step_why_
                   : set_for == SetFor::requests ? kLate
                   : stands_in_                  ? held.why
                                                 : "another setting could not stay in force");
  } else if (stands_in_) {
    held = {};
    stands_in_ = false;
  }
}

// In recordings that do not tell. What the guard takes for power is no measurement; where a cap
// falls or requests are late, the search may go on in the same tick, and measures what is not
// known.
bool Rationale::seems_to_stand_in(const Setting& setting, bool steps) const {
  if (steps && step_is_sure_) return true;
  return (steps || stands_in_) && known_to_fit(setting);
}

// The search waits in what is in force. A choice that is, is still held as one.
void Rationale::wait(const Note& note) {
  const bool chosen = held.holding == Holding::choice || held.holding == Holding::best;
  if (chosen && held.setting == *note.setting) return;
  stand_in(note, std::string(note.text));
}

bool Rationale::is_safe(const Setting& setting) const {
  return !safe_mode_ || setting.mode == *safe_mode_;
}

bool Rationale::known_to_fit(const Setting& setting) const {
  if (safe_mode_ && setting.mode == *safe_mode_) return true;
  return std::any_of(tried_.begin(), tried_.end(), [&](const Tried& one) {
    return one.observation.setting == setting && one.observation.ok() &&
           (cap.power_mw == 0 || needed_power_mw(one.observation) <= cap.power_mw);
  });
}

void Rationale::take(const Observation& observation) {
  if (says_nothing(observation.outcome)) return;
  if (one_left_) {
    forget();
    key_ = roster_.key();
  }
  Tried entry{observation};
  if (predict_) entry.predicted = predict_(observation.setting);
  const auto same = std::find_if(tried_.begin(), tried_.end(), [&](const Tried& one) {
    return one.observation.setting == observation.setting;
  });
  if (same != tried_.end()) {
    entry.times += observation.from_memory ? same->times - 1 : same->times;
    // A recording does not keep it with what is remembered.
    double& late_per_s = entry.observation.late_per_s;
    if (observation.from_memory && late_per_s <= 0) late_per_s = same->observation.late_per_s;
    tried_.erase(same);
  } else if (tried_.size() == kMostTried) {
    drop_one();
  }
  tried_.push_back(entry);
}

// The oldest that was cut or failed, or else the oldest of all: but never what is held, nor what is
// best now by any objective, or what is told of the choice would be wrong.
void Rationale::drop_one() {
  std::vector<const Observation*> kept{held_cost(), best().observation};
  for (const Objective objective : kObjectives) {
    const Alternative other = for_objective(objective);
    if (std::isfinite(other.value)) kept.push_back(other.observation);
  }
  const auto spare = [&](const Tried& one) {
    return std::find(kept.begin(), kept.end(), &one.observation) == kept.end();
  };
  auto gone = std::find_if(tried_.begin(), tried_.end(),
                           [&](const Tried& one) { return !one.observation.ok() && spare(one); });
  if (gone == tried_.end()) gone = std::find_if(tried_.begin(), tried_.end(), spare);
  tried_.erase(gone);
}

// As the memory of the run knows it.
void Rationale::mark_late(const Note& note) {
  for (Tried& one : tried_) {
    if (one.observation.setting != *note.setting) continue;
    one.observation.late_per_s = static_cast<double>(note.value) / kLateParts;
  }
}

const Observation* Rationale::held_cost() const {
  if (held.holding == Holding::nothing) return nullptr;
  for (const Tried& one : tried_) {
    if (one.observation.setting == held.setting) return &one.observation;
  }
  return nullptr;
}

Alternative Rationale::best_for(const Goal& goal) const {
  Alternative best{goal.power_mw.value_or(0), nullptr, std::numeric_limits<double>::infinity()};
  for (const Tried& one : tried_) {
    if (!one.observation.keeps(goal)) continue;
    const double value = one.observation.value(goal);
    if (best.observation != nullptr && value >= best.value) continue;
    best = {best.cap_mw, &one.observation, value};
  }
  return best;
}

Alternative Rationale::best() const {
  const Goal goal = capped(goal_, cap.power_mw);
  Alternative best = best_for(goal);
  const Observation* const now = held_cost();
  const bool ties = now != nullptr && now->keeps(goal) && now->value(goal) <= best.value;
  if (ties) best.observation = now;
  return best;
}

Alternative Rationale::looser() const {
  const Observation* const now = held_cost();
  const Goal free = capped(goal_, 0);
  Alternative least;
  if (now == nullptr || cap.power_mw == 0) return least;
  const double value_now = now->value(free);
  for (const Tried& one : tried_) {
    const std::int64_t needed_mw = needed_power_mw(one.observation);
    if (needed_mw <= cap.power_mw || !one.observation.keeps(free)) continue;
    const double value = one.observation.value(free);
    if (!(value < value_now)) continue;
    if (least.observation != nullptr && needed_mw >= least.cap_mw) continue;
    least = {needed_mw, &one.observation, value};
  }
  return least;
}

Alternative Rationale::tighter() const {
  const Observation* const now = held_cost();
  if (now == nullptr || !now->ok()) return {};
  const std::int64_t needed_mw = needed_power_mw(*now);
  Alternative next = best_for(capped(goal_, std::max<std::int64_t>(needed_mw - 1, 1)));
  next.cap_mw = needed_mw;
  return next;
}

Alternative Rationale::for_objective(Objective objective) const {
  Goal goal = capped(goal_, cap.power_mw);
  goal.objective = objective;
  return best_for(goal);
}

}  // namespace gearshift
