// Which of the attached workloads is managed, and who goes where there is no place left.
#include <algorithm>
#include <optional>
#include <string>

#include "bridge/sessions.h"

namespace gearshift {

// The observed workload that has waited longest attaches anew as the managed one.
void Sessions::promote(Kind kind, Time now, EventBuffer& events) {
  const auto next =
      std::find_if(sessions_.begin(), sessions_.end(), [kind](const Session& session) {
        return session.workload.kind == kind && !session.unreachable &&
               session.rights.has(Right::request_batch_size);
      });
  if (next == sessions_.end()) return;
  Workload workload = next->workload;
  workload.managed = true;
  attach_anew(workload, "managed from now on", now, events);
}

// Who has this handle, as `workload` says it from now on. Its process may have ended since its
// hello, so that another one has the number, or run as another user by now.
void Sessions::attach_anew(Workload workload, std::string_view why, Time now, EventBuffer& events) {
  const Session* const session = find(workload.handle);
  const std::string identity = session->identity;
  const std::string client = session->client;
  const std::optional<ProcessIdentity> process = session->process;
  std::string told(why);
  if (workload.pid > 0 && identify_(workload.pid) != process) {
    told += ", without process " + std::to_string(workload.pid) + ", which is another's by now";
    workload.pid = 0;
  }
  const Caller caller{client, session->rights, !client.empty()};
  // Its program may be in its turn, and ends it by the same number: nobody else is to have it
  // meanwhile.
  turns_.rename(workload.handle, last_handle_ + 1);
  detach(static_cast<std::size_t>(session - sessions_.data()), told, now, events);
  if (Session* const attached = attach(identity, workload, caller, now, events)) {
    attached->process = process;
  }
}

bool Sessions::silent(const Session& session, Time now) const {
  const bool first = session.last_sequence == 0;
  const Duration least = first ? options_.first_minibatch_most : options_.gives_way_after;
  const Duration patience = session.times.patience(session.workload.batch_size, least);
  return now - session.awaited > patience;
}

// A process may have left its client behind, whose heartbeats go on: a cell of a notebook that was
// run again.
void Sessions::give_way(WorkloadHandle reporting, Time now, EventBuffer& events) {
  const Session& next = *find(reporting);
  if (next.workload.managed || !next.rights.has(Right::request_batch_size)) return;
  Workload manages = next.workload;
  manages.managed = true;
  const auto gives = std::find_if(sessions_.begin(), sessions_.end(), [&](const Session& one) {
    return one.workload.managed && one.workload.kind == manages.kind && silent(one, now);
  });
  if (gives == sessions_.end()) return;
  gives->workload.managed = false;  // nobody else is promoted
  attach_anew(gives->workload, "silent, while another of its kind reports", now, events);
  attach_anew(manages, "managed from now on", now, events);
}

// Who is only observed takes no place from who is managed: where there is none left the newest
// goes.
void Sessions::make_room(Time now, EventBuffer& events) {
  const auto observed = [](const Session& session) { return !session.workload.managed; };
  const auto last = std::find_if(sessions_.rbegin(), sessions_.rend(), observed);
  if (sessions_.size() < kMaxSessions || last == sessions_.rend()) return;
  send(*last,
       wire::Error{wire::Text("unknown_client"),
                   wire::MessageText("detached: a workload that is managed needed the place")});
  detach(static_cast<std::size_t>(&*last - sessions_.data()), "its place was needed", now, events);
}

}  // namespace gearshift
