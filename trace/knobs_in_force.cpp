#include "trace/knobs_in_force.h"

#include <algorithm>
#include <utility>

namespace gearshift {
namespace {

// Minibatches are told of within a few ticks.
constexpr std::size_t kMostStretches = 64;

}  // namespace

void KnobsInForce::see(const RecordedTick& tick) {
  if (begins_) begin_at(tick.now);
  const bool moved_before = moving_;
  const bool unread_before = unread_;
  bool read = false;     // something new
  bool outside = false;  // and before anything was written
  bool wrote = false;
  bool timed = true;
  Time middle = tick.now;  // of the newest write
  Time end = tick.now;
  for (const auto& [call, text] : tick.knob_calls) {
    if (call.action == KnobAction::read) {
      unread_ = false;
      const auto value = call.known ? std::optional(call.value) : std::nullopt;
      if (std::exchange(answered_[call.knob], value) == value) continue;
      read = true;
      outside = outside || !wrote;
      moving_ = false;
    } else if (call.action == KnobAction::write && call.outcome != KnobOutcome::away) {
      wrote = true;
      unread_ = false;
      moving_ = call.outcome == KnobOutcome::more;
      timed = timed && times_writes_ && call.outcome != KnobOutcome::failed;
      if (!call.wrote) continue;  // a simulation's, which takes no time
      // It began after the middle of the one before, and ended as long after its own at the latest.
      end = *call.wrote + std::max(Duration::zero(), *call.wrote - middle);
      middle = *call.wrote;
    }
  }
  // A mode that writes nothing waits, or finds all in place and is in force in a moment.
  for (const RecordedNote& note : tick.notes) {
    if (note.type == NoteType::setting) unread_ = !wrote;
    if (note.type == NoteType::applied) unread_ = false;
  }
  if (outside) {
    end_at(newest_);  // all was read then, and moved at some time since
  } else if (read || moving_ || unread_) {
    end_at(tick.now);  // all was read before it was written
  }
  newest_ = tick.now;
  if (moving_ || unread_ || (!read && !moved_before && !unread_before)) return;
  begins_ = !wrote || !timed;  // the tick goes on for a time that nobody tells
  if (!begins_) begin_at(end);
}

void KnobsInForce::end_at(Time time) {
  if (stretches_.empty() || stretches_.back().until != Time::max()) return;
  stretches_.back().until = time;
  if (stretches_.back().from >= time) stretches_.pop_back();
}

void KnobsInForce::begin_at(Time time) {
  begins_ = false;
  stretches_.push_back({time, Time::max(), answered_});
  if (stretches_.size() > kMostStretches) stretches_.pop_front();
}

const KnobsInForce::Values* KnobsInForce::during(Time begin, Time end) const {
  const auto found = std::find_if(
      stretches_.rbegin(), stretches_.rend(),
      [&](const Stretch& stretch) { return stretch.from <= begin && end <= stretch.until; });
  return found == stretches_.rend() ? nullptr : &found->values;
}

}  // namespace gearshift
