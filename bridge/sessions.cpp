#include "bridge/sessions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace gearshift {
namespace {

// A client says hello once and again after a lost daemon; more than this is a fault or an attack,
// and would use up the handles.
constexpr int kHelloBurst = 16;
constexpr Duration kHelloPeriod = std::chrono::milliseconds(250);
// Of one client with a key, so that some are left for the others.
constexpr int kClientHelloBurst = 8;
constexpr Duration kClientHelloPeriod = std::chrono::seconds(1);
// Of one connection that is attached, for the same reason.
constexpr int kSessionHelloBurst = 4;
constexpr Duration kSessionHelloPeriod = std::chrono::seconds(1);
// Answers to connections that are not attached: enough for every client after a restart.
constexpr int kStrangerBurst = 64;
constexpr Duration kStrangerPeriod = std::chrono::milliseconds(16);
constexpr Duration kErrorPeriod = std::chrono::seconds(1);
// A report of requests ends the loop's wait; a client sends ten a second at most.
constexpr int kRequestsBurst = 8;
constexpr Duration kRequestsPeriod = std::chrono::milliseconds(50);

// What others wait for, and what costs next to nothing: each acts once for a turn, a command or an
// attachment, and is not looked at after that.
bool settles(const wire::ClientMessage& message) {
  return std::holds_alternative<wire::TurnEnd>(message) ||
         std::holds_alternative<wire::Applied>(message) ||
         std::holds_alternative<wire::Refused>(message) ||
         std::holds_alternative<wire::Saved>(message) ||
         std::holds_alternative<wire::Unsaved>(message) ||
         std::holds_alternative<wire::Bye>(message);
}

wire::Error error(std::string_view code, std::string_view message) {
  return {wire::Text(code), wire::MessageText(message)};
}

}  // namespace

Sessions::Sessions(Peers& peers, IdentifyProcess identify, const SessionOptions& options)
    : peers_(peers),
      identify_(std::move(identify)),
      options_(options),
      last_handle_(options.last_handle),
      hellos_(kHelloBurst, kHelloPeriod),
      strangers_(kStrangerBurst, kStrangerPeriod),
      stranger_messages_(options.messages),
      client_messages_(options.messages),
      client_turn_messages_(options.turn_messages),
      client_hellos_(TokenBucket(kClientHelloBurst, kClientHelloPeriod)),
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

void Sessions::answer_stranger(std::string_view identity, const wire::Error& error, Time now) {
  if (!strangers_.take(now)) return;
  wire::pack(buffer_, error);
  peers_.send(identity, buffer_.view());
}

void Sessions::answer(Session& session, const wire::Error& error, Time now) {
  if (session.errors.take(now)) send(session, error);
}

// Charges message_ to its sender. The end of a turn is paid for by its request.
bool Sessions::admit(Session* session, const Caller& caller, Time now) {
  const auto* const end = std::get_if<wire::TurnEnd>(&message_);
  if (end != nullptr && session != nullptr && turns_.knows(session->workload.handle, end->turn)) {
    return true;
  }
  const bool turn = end != nullptr || std::holds_alternative<wire::TurnRequest>(message_);
  if (!caller.name.empty()) {
    return (turn ? client_turn_messages_ : client_messages_).take(caller.name, now);
  }
  if (session == nullptr) return stranger_messages_.take(now);
  return (turn ? session->turn_messages : session->messages).take(now);
}

bool Sessions::receive(std::string_view identity, std::string_view frame, Time now,
                       EventBuffer& events, const Caller& caller) {
  Session* session = find(identity);
  if (session != nullptr) session->heard = now;
  message_ = wire::Heartbeat{};  // what a frame that is no message counts as
  const wire::Fault fault = wire::decode(frame, message_);
  if (!admit(session, caller, now)) {
    if (!fault && session != nullptr && settles(message_)) {
      route(session, identity, caller, now, events);
      return false;
    }
    ++counters_.excess;
    const bool turn = std::holds_alternative<wire::TurnRequest>(message_);
    const wire::Error too_many =
        error("too_many", turn ? "more than 10000 turns a second: ask again"
                               : "more than 2000 messages a second: what is beyond is dropped");
    if (session != nullptr) answer(*session, too_many, now);
    return false;
  }
  if (!fault) {
    route(session, identity, caller, now, events);
    return true;
  }
  ++(fault.code == wire::Fault::Code::invalid ? counters_.dropped : counters_.faults);
  if (session != nullptr) {
    answer(*session, fault.error(), now);
  } else {
    answer_stranger(identity, fault.error(), now);
  }
  return true;
}

void Sessions::route(Session* session, std::string_view identity, const Caller& caller, Time now,
                     EventBuffer& events) {
  if (session != nullptr && session->client != caller.name) {
    // Its key is another client's now, or nobody's.
    send(*session, error("forbidden", lacking(caller, Right::report)));
    detach(static_cast<std::size_t>(session - sessions_.data()), "its key was revoked", now,
           events);
    return;
  }
  if (const auto* hello = std::get_if<wire::Hello>(&message_)) {
    take(session, identity, *hello, caller, now, events);
  } else if (session == nullptr) {
    if (std::holds_alternative<wire::Bye>(message_)) return;
    answer_stranger(identity, error("unknown_client", "say hello first"), now);
  } else if (const auto* report = std::get_if<wire::Report>(&message_)) {
    take(*session, *report, now, events);
  } else if (const auto* request = std::get_if<wire::TurnRequest>(&message_)) {
    take(*session, *request, caller, now);
  } else if (const auto* end = std::get_if<wire::TurnEnd>(&message_)) {
    take(*session, *end, now);
  } else if (const auto* requests = std::get_if<wire::Requests>(&message_)) {
    take(*session, *requests, now, events);
  } else if (const auto* applied = std::get_if<wire::Applied>(&message_)) {
    take(*session, *applied, now, events);
  } else if (const auto* refused = std::get_if<wire::Refused>(&message_)) {
    take(*session, *refused, events);
  } else if (const auto* saved = std::get_if<wire::Saved>(&message_)) {
    take(*session, *saved, events);
  } else if (const auto* unsaved = std::get_if<wire::Unsaved>(&message_)) {
    take(*session, *unsaved, events);
  } else if (std::holds_alternative<wire::Bye>(message_)) {
    detach(static_cast<std::size_t>(session - sessions_.data()), kSaidBye, now, events);
  }
}

void Sessions::take(Session* session, std::string_view identity, const wire::Hello& hello,
                    const Caller& caller, Time now, EventBuffer& events) {
  if (!caller.rights.has(Right::report)) {
    answer_stranger(identity, error("forbidden", lacking(caller, Right::report)), now);
    return;
  }
  TokenBucket hellos(kSessionHelloBurst, kSessionHelloPeriod);
  if (session != nullptr) {
    if (!session->hellos.take(now)) {
      answer(*session, error("too_many", "more than one hello a second"), now);
      return;
    }
    hellos = session->hellos;
  }
  const bool its_share = caller.name.empty() || client_hellos_.take(caller.name, now);
  if (!its_share || !hellos_.take(now)) {
    answer_stranger(identity, error("too_many", "too many hellos: try again in 10 s"), now);
    return;
  }
  if (session != nullptr) {
    if (session->workload.kind == hello.kind && caller.rights.has(Right::request_batch_size)) {
      session->workload.managed = false;  // nobody else is promoted: it takes its own place
    }
    detach(static_cast<std::size_t>(session - sessions_.data()), "connection replaced", now,
           events);
  }
  // A trainer that was killed and started again comes back before its silence is noticed; its old
  // connection is gone, which a heartbeat finds out.
  for (Session& other : sessions_) {
    if (other.workload.kind == hello.kind) send(other, wire::Heartbeat{});
  }
  drop_unreachable(now, events);
  const bool manages = caller.rights.has(Right::request_batch_size) && !managed(hello.kind);
  if (manages) make_room(now, events);
  if (sessions_.size() >= kMaxSessions) {
    answer_stranger(identity, error("too_many", "16 workloads are attached, which is the most"),
                    now);
    return;
  }
  Workload workload;
  workload.kind = hello.kind;
  workload.managed = manages;
  const std::optional<ProcessIdentity> process = identify_(hello.pid);
  const bool ours = caller.same_machine && process && process->user == options_.allowed_user;
  workload.pid = ours ? hello.pid : 0;
  workload.batch_size = hello.batch_size;
  workload.batch_sizes = hello.batch_sizes;
  workload.batch_size_count = hello.batch_size_count;
  workload.samples_per_epoch = hello.samples_per_epoch;
  workload.latency = hello.latency;
  // Whom the plan of a battery waits for shapes a decision: reports alone may not.
  workload.saves = hello.saves && caller.rights.has(Right::request_batch_size);
  workload.name = hello.name;
  if (Session* const attached = attach(identity, workload, caller, now, events)) {
    attached->hellos = hellos;
    attached->process = process;
  }
}

Sessions::Session* Sessions::attach(std::string_view identity, const Workload& workload,
                                    const Caller& caller, Time now, EventBuffer& events) {
  if (last_handle_ == std::numeric_limits<WorkloadHandle>::max()) {
    answer_stranger(identity,
                    error("too_many", "4294967295 attachments were made: restart the daemon"), now);
    return nullptr;
  }
  sessions_.push_back({std::string(identity),
                       workload,
                       0,
                       0,
                       {},
                       false,
                       0,
                       false,
                       now,
                       now,
                       {1, kErrorPeriod},
                       {kRequestsBurst, kRequestsPeriod},
                       options_.messages,
                       options_.turn_messages,
                       {kSessionHelloBurst, kSessionHelloPeriod},
                       {},
                       std::string(caller.name),
                       caller.rights});
  Session& session = sessions_.back();
  session.workload.handle = ++last_handle_;
  session.awaited = now;
  wire::Welcome welcome;
  welcome.workload = session.workload.handle;
  welcome.managed = workload.managed;
  welcome.heartbeat = options_.heartbeat;
  welcome.silent_after = options_.silent_after;
  if (!caller.rights.has(Right::request_batch_size)) {
    welcome.message =
        wire::MessageText("only observed: " + lacking(caller, Right::request_batch_size));
  } else if (!workload.managed) {
    welcome.message = wire::MessageText("another " + std::string(kind_name(workload.kind)) +
                                        " workload is managed; this one is only observed");
  }
  send(session, welcome);
  Event& event = events.emplace_back();
  event.type = EventType::attached;
  event.handle = session.workload.handle;
  event.workload = session.workload;
  return &session;
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

void Sessions::drop_unreachable(Time now, EventBuffer& events) {
  for (;;) {
    const auto lost = std::find_if(sessions_.begin(), sessions_.end(),
                                   [](const Session& session) { return session.unreachable; });
    if (lost == sessions_.end()) return;
    detach(static_cast<std::size_t>(lost - sessions_.begin()), "connection lost", now, events);
  }
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
    if (!runs(sessions_[i].last_set.run, sessions_[i].workload.kind)) sessions_[i].awaited = now;
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
    if (command.type == CommandType::checkpoint) {
      session.checkpoint = command.sequence;
      send(session, wire::CheckpointRequest{command.sequence, command.within});
      continue;
    }
    session.last_set = {command.sequence, command.batch_size, command.run};
    session.last_set_open = true;
    send(session, session.last_set);
  }
}

void Sessions::review(const ClientTable& clients, Time now, EventBuffer& events) {
  client_messages_.forget();
  client_turn_messages_.forget();
  for (std::size_t i = 0; i < sessions_.size();) {
    Session& session = sessions_[i];
    const Client* const client = clients.find_name(session.client);
    if (session.client.empty() || (client != nullptr && client->rights == session.rights)) {
      ++i;
      continue;
    }
    if (client == nullptr) {
      send(session, error("forbidden", lacking({{}, {}, true}, Right::report)));
    } else {
      send(session, error("unknown_client", "its rights were changed: say hello again"));
    }
    detach(i, client == nullptr ? "its key was revoked" : "its rights were changed", now, events);
    i = 0;  // A promotion may have moved the others.
  }
}

void Sessions::close() {
  for (Session& session : sessions_) send(session, wire::Bye{});
  sessions_.clear();
}

}  // namespace gearshift
