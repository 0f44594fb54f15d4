#include "bridge/sessions.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace gearshift {
namespace {

// A client says hello once and again after a lost daemon; more than this is a fault or an attack,
// and would use up the handles.
constexpr int kHelloBurst = 16;
constexpr Duration kHelloPeriod = std::chrono::milliseconds(250);
// Answers to connections that are not attached: enough for every client after a restart.
constexpr int kStrangerBurst = 64;
constexpr Duration kStrangerPeriod = std::chrono::milliseconds(16);
constexpr Duration kErrorPeriod = std::chrono::seconds(1);
// A report of requests ends the loop's wait; a client sends ten a second at most.
constexpr int kRequestsBurst = 8;
constexpr Duration kRequestsPeriod = std::chrono::milliseconds(50);

wire::Error error(std::string_view code, std::string_view message) {
  return {wire::Text(code), wire::MessageText(message)};
}

// Of samples that training was offered, or of requests that would not wait for more.
bool counts(const Workload& workload, std::int32_t batch_size) {
  const auto* begin = workload.batch_sizes.data();
  if (workload.kind == Kind::infer && workload.batch_size_count > 0) {
    return batch_size <= begin[workload.batch_size_count - 1];
  }
  return std::binary_search(begin, begin + workload.batch_size_count, batch_size);
}

}  // namespace

std::optional<std::uint32_t> process_owner(std::int32_t pid) {
  struct stat folder {};
  const std::string path = "/proc/" + std::to_string(pid);
  if (pid <= 0 || ::stat(path.c_str(), &folder) != 0) return std::nullopt;
  return folder.st_uid;
}

Sessions::Sessions(Peers& peers, ProcessOwner owner, const SessionOptions& options)
    : peers_(peers),
      owner_(std::move(owner)),
      options_(options),
      hellos_(kHelloBurst, kHelloPeriod),
      strangers_(kStrangerBurst, kStrangerPeriod),
      turns_(options.longest_turn) {
  sessions_.reserve(kMaxSessions);
}

Sessions::Session* Sessions::find(std::string_view identity) {
  for (Session& session : sessions_) {
    if (session.identity == identity) return &session;
  }
  return nullptr;
}

Sessions::Session* Sessions::find(WorkloadHandle workload) {
  for (Session& session : sessions_) {
    if (session.workload.handle == workload) return &session;
  }
  return nullptr;
}

bool Sessions::managed(Kind kind) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [kind](const Session& session) {
    return session.workload.managed && session.workload.kind == kind;
  });
}

template <typename Message>
bool Sessions::send(Session& session, const Message& message) {
  wire::pack(buffer_, message);
  if (!peers_.send(session.identity, buffer_.view())) session.unreachable = true;
  return !session.unreachable;
}

void Sessions::answer_stranger(std::string_view identity, const wire::Error& error, Time now) {
  if (!strangers_.take(now)) return;
  wire::pack(buffer_, error);
  peers_.send(identity, buffer_.view());
}

void Sessions::answer(Session& session, const wire::Error& error, Time now) {
  if (session.errors.take(now)) send(session, error);
}

void Sessions::receive(std::string_view identity, std::string_view frame, Time now,
                       EventBuffer& events) {
  Session* session = find(identity);
  if (session != nullptr) session->heard = now;
  if (const wire::Fault fault = wire::decode(frame, message_)) {
    ++(fault.code == wire::Fault::Code::invalid ? counters_.dropped : counters_.faults);
    if (session != nullptr) {
      answer(*session, fault.error(), now);
    } else {
      answer_stranger(identity, fault.error(), now);
    }
    return;
  }
  if (const auto* hello = std::get_if<wire::Hello>(&message_)) {
    take(session, identity, *hello, now, events);
  } else if (session == nullptr) {
    if (std::holds_alternative<wire::Bye>(message_)) return;
    answer_stranger(identity, error("unknown_client", "say hello first"), now);
  } else if (const auto* report = std::get_if<wire::Report>(&message_)) {
    take(*session, *report, now, events);
  } else if (const auto* request = std::get_if<wire::TurnRequest>(&message_)) {
    turns_.request(session->workload.handle, session->workload.kind, request->turn);
    ++counters_.turns;
    settle_turns(now);
  } else if (const auto* end = std::get_if<wire::TurnEnd>(&message_)) {
    turns_.end(session->workload.handle, end->turn);
    ++counters_.turns;
    settle_turns(now);
  } else if (const auto* requests = std::get_if<wire::Requests>(&message_)) {
    take(*session, *requests, now, events);
  } else if (const auto* applied = std::get_if<wire::Applied>(&message_)) {
    take(*session, *applied, now, events);
  } else if (const auto* refused = std::get_if<wire::Refused>(&message_)) {
    take(*session, *refused, events);
  } else if (std::holds_alternative<wire::Bye>(message_)) {
    detach(static_cast<std::size_t>(session - sessions_.data()), "bye", now, events);
  }
}

void Sessions::take(Session* session, std::string_view identity, const wire::Hello& hello, Time now,
                    EventBuffer& events) {
  if (!hellos_.take(now)) {
    answer_stranger(identity, error("too_many", "too many hellos: try again in 10 s"), now);
    return;
  }
  if (session != nullptr) {
    detach(static_cast<std::size_t>(session - sessions_.data()), "connection replaced", now,
           events);
  }
  // A trainer that was killed and started again comes back before its silence is noticed; its old
  // connection is gone, which a heartbeat finds out.
  for (Session& other : sessions_) {
    if (other.workload.kind == hello.kind) send(other, wire::Heartbeat{});
  }
  drop_unreachable(now, events);
  if (sessions_.size() >= kMaxSessions) {
    answer_stranger(identity, error("too_many", "16 workloads are attached, which is the most"),
                    now);
    return;
  }
  Workload workload;
  workload.kind = hello.kind;
  workload.managed = !managed(hello.kind);
  workload.pid = owner_(hello.pid) == options_.allowed_user ? hello.pid : 0;
  workload.batch_size = hello.batch_size;
  workload.batch_sizes = hello.batch_sizes;
  workload.batch_size_count = hello.batch_size_count;
  workload.samples_per_epoch = hello.samples_per_epoch;
  workload.latency = hello.latency;
  workload.name = hello.name;
  attach(identity, workload, now, events);
}

void Sessions::attach(std::string_view identity, const Workload& workload, Time now,
                      EventBuffer& events) {
  if (last_handle_ == std::numeric_limits<WorkloadHandle>::max()) {
    answer_stranger(identity, error("too_many", "65535 attachments were made: restart the daemon"),
                    now);
    return;
  }
  sessions_.push_back({std::string(identity),
                       workload,
                       0,
                       0,
                       {},
                       false,
                       false,
                       now,
                       now,
                       {1, kErrorPeriod},
                       {kRequestsBurst, kRequestsPeriod}});
  Session& session = sessions_.back();
  session.workload.handle = static_cast<WorkloadHandle>(++last_handle_);
  wire::Welcome welcome;
  welcome.workload = session.workload.handle;
  welcome.managed = workload.managed;
  welcome.heartbeat = options_.heartbeat;
  welcome.silent_after = options_.silent_after;
  if (!workload.managed) {
    welcome.message = wire::MessageText("another " + std::string(kind_name(workload.kind)) +
                                        " workload is managed; this one is only observed");
  }
  send(session, welcome);
  Event& event = events.emplace_back();
  event.type = EventType::attached;
  event.handle = session.workload.handle;
  event.workload = session.workload;
}

void Sessions::detach(std::size_t position, std::string_view why, Time now, EventBuffer& events) {
  const Workload gone = sessions_[position].workload;
  sessions_.erase(sessions_.begin() + static_cast<std::ptrdiff_t>(position));
  turns_.leave(gone.handle);
  settle_turns(now);
  Event& event = events.emplace_back();
  event.type = EventType::detached;
  event.handle = gone.handle;
  event.text = decltype(event.text)(why);
  if (gone.managed) promote(gone.kind, now, events);
}

// The observed workload that has waited longest attaches anew as the managed one.
void Sessions::promote(Kind kind, Time now, EventBuffer& events) {
  const auto next =
      std::find_if(sessions_.begin(), sessions_.end(), [kind](const Session& session) {
        return session.workload.kind == kind && !session.unreachable;
      });
  if (next == sessions_.end()) return;
  const std::string identity = next->identity;
  Workload workload = next->workload;
  detach(static_cast<std::size_t>(next - sessions_.begin()), "managed from now on", now, events);
  workload.managed = true;
  attach(identity, workload, now, events);
}

void Sessions::drop_unreachable(Time now, EventBuffer& events) {
  for (;;) {
    const auto lost = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const Session& session) { return session.unreachable; });
    if (lost == sessions_.end()) return;
    detach(static_cast<std::size_t>(lost - sessions_.begin()), "connection lost", now, events);
  }
}

void Sessions::take(Session& session, const wire::Report& report, Time now, EventBuffer& events) {
  if (report.sequence <= session.last_sequence || report.set > session.last_set.set) {
    ++counters_.dropped;
    answer(session,
           report.set > session.last_set.set
               ? error("invalid", "set is larger than the last command's")
               : error("invalid", "sequence is not larger than the last one"),
           now);
    return;
  }
  session.last_sequence = report.sequence;
  if (!counts(session.workload, report.batch_size)) {
    ++counters_.dropped;
    return;
  }
  ++counters_.reports;
  Event& event = events.emplace_back();
  event.type = EventType::minibatch;
  event.handle = session.workload.handle;
  event.minibatch = {session.workload.handle,
                     session.workload.kind,
                     report.batch_size,
                     report.set,
                     report.epoch,
                     report.sequence,
                     report.elapsed,
                     report.fetch_stall,
                     report.compute,
                     now};
}

void Sessions::take(Session& session, const wire::Requests& requests, Time now,
                    EventBuffer& events) {
  std::string_view wrong;
  if (session.workload.kind != Kind::infer) wrong = "requests are of workloads of kind infer";
  if (requests.sequence <= session.last_requests)
    wrong = "sequence is not larger than the last one";
  if (requests.set > session.last_set.set) wrong = "set is larger than the last command's";
  if (!wrong.empty() || !session.requests.take(now)) {
    ++counters_.dropped;
    if (!wrong.empty()) answer(session, error("invalid", wrong), now);
    return;
  }
  session.last_requests = requests.sequence;
  ++counters_.reports;
  Event& event = events.emplace_back();
  event.type = EventType::requests;
  event.handle = session.workload.handle;
  event.requests = {session.workload.handle,
                    requests.sequence,
                    requests.set,
                    requests.span,
                    requests.arrived,
                    requests.served,
                    requests.late,
                    requests.refused,
                    requests.queued,
                    requests.latency_p50,
                    requests.latency_p95,
                    requests.latency_p99,
                    requests.latency_max,
                    now};
}

void Sessions::settle_turns(Time now) {
  if (const auto lost = turns_.expire(now)) {
    Session* const session = find(lost->workload);
    if (session != nullptr) answer(*session, error("turn_lost", "the turn was held too long"), now);
  }
  while (const auto turn = turns_.grant(now)) {
    Session* const session = find(turn->workload);
    if (session != nullptr && send(*session, wire::Turn{turn->number, options_.longest_turn}))
      return;
    turns_.leave(turn->workload);
  }
}

void Sessions::take(Session& session, const wire::Applied& applied, Time now, EventBuffer& events) {
  if (applied.set > session.last_set.set) {
    answer(session, error("invalid", "set is larger than the last command's"), now);
    return;
  }
  // An older command was replaced by a newer one, whose answer is still to come.
  if (applied.set < session.last_set.set || !session.last_set_open) return;
  if (applied.batch_size != session.last_set.batch_size || applied.run != session.last_set.run) {
    answer(session, error("invalid", "batch_size or run is not what the command asked for"), now);
    return;
  }
  session.last_set_open = false;
  Event& event = events.emplace_back();
  event.type = EventType::applied;
  event.handle = session.workload.handle;
  event.set_sequence = applied.set;
  event.batch_size = applied.batch_size;
}

void Sessions::take(Session& session, const wire::Refused& refused, EventBuffer& events) {
  if (refused.set != session.last_set.set || !session.last_set_open) return;
  session.last_set_open = false;
  Event& event = events.emplace_back();
  event.type = EventType::refused;
  event.handle = session.workload.handle;
  event.set_sequence = refused.set;
  event.batch_size = session.last_set.batch_size;
  event.text = decltype(event.text)(std::string(refused.code.view()) + ": " +
                                    std::string(refused.message.view()));
}

void Sessions::advance(Time now, EventBuffer& events) {
  for (std::size_t i = 0; i < sessions_.size();) {
    if (now - sessions_[i].heard >= options_.silent_after) {
      // Told, so that a client that was only stopped for a while says hello when it goes on.
      send(sessions_[i], error("unknown_client", "detached: silent for too long"));
      const std::string why =
          "silent for " +
          std::to_string(
              std::chrono::duration_cast<std::chrono::seconds>(options_.silent_after).count()) +
          " s";
      detach(i, why, now, events);
      i = 0;  // A promotion may have moved the others.
      continue;
    }
    if (now - sessions_[i].spoken >= options_.heartbeat) {
      sessions_[i].spoken = now;
      send(sessions_[i], wire::Heartbeat{});
    }
    ++i;
  }
  drop_unreachable(now, events);
  settle_turns(now);
}

Time Sessions::next_due(Time now) const {
  Time due = std::min(now + options_.heartbeat, turns_.due().value_or(Time::max()));
  for (const Session& session : sessions_) {
    due =
        std::min({due, session.spoken + options_.heartbeat, session.heard + options_.silent_after});
    if (session.unreachable) return now;
  }
  return due;
}

void Sessions::command(WorkloadHandle workload, const WorkloadCommand& command) {
  for (Session& session : sessions_) {
    if (session.workload.handle != workload) continue;
    session.last_set = {command.sequence, command.batch_size, command.run};
    session.last_set_open = true;
    send(session, session.last_set);
  }
}

void Sessions::close() {
  for (Session& session : sessions_) send(session, wire::Bye{});
  sessions_.clear();
}

}  // namespace gearshift
