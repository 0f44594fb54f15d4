// The part of the loop that offers no batch size to the policy which a workload does not take up.
#include <limits>
#include <string>

#include "controller/controller.h"

namespace gearshift {

// Where a size does not fit into memory a larger one does not either.
void Controller::on_refused(const Event& event, Time now) {
  if (!roster_.refused(event)) return;
  refused_by_workload_ = true;
  const std::string_view why = event.text.view();
  note(NoteType::knob_failed, now, why);
  const bool memory = why.starts_with("memory:");
  if (!memory && !why.starts_with("batch_size:")) return;
  const std::int32_t most = memory ? std::numeric_limits<std::int32_t>::max() : event.batch_size;
  if (roster_.withdraw(event.handle, event.batch_size, most)) offer_less(Outcome::refused, now);
}

// A workload that goes on with its own size will not follow: as good as a refusal, of one who does
// not say so.
bool Controller::withdraw_ignored(Time now) {
  bool any = false;
  for (const Workload* who = roster_.ignoring(); who != nullptr; who = roster_.ignoring()) {
    const std::int32_t batch_size = roster_.asked_batch(who->kind);
    note(NoteType::knob_failed, now,
         std::string(who->name.view()) + " does not take up batches of " +
             std::to_string(batch_size) + " samples, and goes on with " +
             std::to_string(roster_.running_batch(who->kind)) + ": it is not asked for them again");
    roster_.withdraw(who->handle, batch_size, batch_size);
    any = true;
  }
  if (any) offer_less(Outcome::timed_out, now);
  return any;
}

// The policy starts anew among what is left. Until then what runs is what is wanted, so that what
// comes of it is held against nothing else.
void Controller::offer_less(Outcome outcome, Time now) {
  if (measuring()) cut_measurement(outcome, now);
  if (aim_ == Aim::hold) aim_ = Aim::fallback;
  keep_mode();
  for (const Kind kind : {Kind::train, Kind::infer}) {
    const Workload* workload = roster_.managed(kind);
    std::int32_t& batch_size = wanted_.batch_size[index(kind)];
    if (workload != nullptr && !workload->offers(batch_size)) {
      batch_size = roster_.running_batch(kind);
    }
  }
  keep_what_is_theirs();
  pending_ = Pending::restart;
}

}  // namespace gearshift
