// What Sessions does with what an attached workload says about turns on the accelerator.
#include <string>

#include "bridge/sessions.h"

namespace gearshift {

void Sessions::take(Session& session, const wire::TurnRequest& request, const Caller& caller,
                    Time now) {
  if (!session.rights.has(Right::request_batch_size)) {
    // As a daemon answers that knows no turns: nobody waits for one then. An answer that was left
    // out for its frequency would be waited for.
    send(session, wire::Error{wire::Text("unknown_type"),
                              wire::MessageText(lacking(caller, Right::request_batch_size))});
    return;
  }
  ++counters_.turns;
  if (turns_.request(session.workload.handle, session.workload.kind, request.turn)) {
    send(session, wire::Turn{request.turn, options_.longest_turn});
  }
  settle_turns(now);
}

void Sessions::take(Session& session, const wire::TurnEnd& end, Time now) {
  ++counters_.turns;
  turns_.end(session.workload.handle, end.turn);
  settle_turns(now);
}

void Sessions::settle_turns(Time now) {
  if (const auto lost = turns_.expire(now)) {
    Session* const session = find(lost->workload);
    if (session != nullptr)
      answer(*session, {wire::Text("turn_lost"), wire::MessageText("the turn was held too long")},
             now);
  }
  while (const auto turn = turns_.grant(now)) {
    Session* const session = find(turn->workload);
    if (session != nullptr && send(*session, wire::Turn{turn->number, options_.longest_turn}))
      return;
    turns_.leave(turn->workload);
  }
}

}  // namespace gearshift
