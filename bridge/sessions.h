// The workloads that are attached: bytes of clients in, events for the loop and answers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/client_budgets.h"
#include "bridge/clients.h"
#include "bridge/process_identity.h"
#include "bridge/protocol.h"
#include "bridge/token_bucket.h"
#include "bridge/turns.h"
#include "controller/clock.h"
#include "controller/minibatch_times.h"
#include "controller/world.h"

namespace gearshift {

// The way back to the clients, by the identity of their connection.
class Peers {
 public:
  virtual ~Peers() = default;
  // Never blocks. False where the connection is gone or the client does not read.
  virtual bool send(std::string_view identity, std::string_view frame) = 0;
};

// Which process has that number now; nullopt where none has.
using IdentifyProcess = std::function<std::optional<ProcessIdentity>(std::int32_t pid)>;

struct SessionOptions {
  std::uint32_t allowed_user = 0;  // only this user's pids are believed
  Duration silent_after = std::chrono::seconds(5);
  Duration heartbeat = std::chrono::seconds(1);
  // Whoever is managed and has not reported for so long, or for 10 of its minibatches where that is
  // more, gives way to one of its kind that reports.
  Duration gives_way_after = std::chrono::seconds(60);
  Duration first_minibatch_most = std::chrono::seconds(150);  // the same before its first report
  Duration longest_turn = std::chrono::seconds(10);           // who holds one for longer loses it
  WorkloadHandle last_handle = 0;  // given before: the first attachment gets the next one
  // What one client may send: less than the loop takes, so that some is left for the others.
  // Messages about turns leave the loop nothing to do.
  TokenBucket messages{512, std::chrono::microseconds(500)};
  TokenBucket turn_messages{1000, std::chrono::microseconds(100)};
};

inline constexpr std::size_t kMaxSessions = 16;

// A state machine without I/O or clock. Every value is checked here before it becomes an event.
class Sessions {
 public:
  struct Counters {
    std::uint64_t reports = 0;  // that became events
    std::uint64_t dropped = 0;  // reports that broke a bound, or came late or twice
    std::uint64_t faults = 0;   // frames that were no message
    std::uint64_t turns = 0;    // messages about turns, which become no event
    std::uint64_t excess = 0;   // messages beyond what one client may send, not looked at
  };

  Sessions(Peers& peers, IdentifyProcess identify, const SessionOptions& options);

  // Takes one frame. Appends an event at most, but for a hello, a bye, and a report of who is only
  // observed, which can end attachments and promote observed workloads: a few for each session.
  // What `caller` has no right to is answered by an error that names the right. False where its
  // sender has sent more than the options allow, counted for a client with a key over all its
  // connections, and together for all that are not attached. The end of a turn, a bye, and what
  // answers a command or a checkpoint are taken all the same.
  bool receive(std::string_view identity, std::string_view frame, Time now, EventBuffer& events,
               const Caller& caller = {});
  // Detaches whose key is in `clients` no more, and whose rights there are others than at their
  // hello; these say hello again.
  void review(const ClientTable& clients, Time now, EventBuffer& events);
  // Sends heartbeats, and detaches who was silent or cannot be reached.
  void advance(Time now, EventBuffer& events);
  // When advance() has something to do next, if nothing arrives.
  Time next_due(Time now) const;
  // Sends a set command or asks for a checkpoint. A client that cannot take it is detached by the
  // next advance().
  void command(WorkloadHandle workload, const WorkloadCommand& command);
  // Says bye to everyone. No events.
  void close();

  const Counters& counters() const { return counters_; }

 private:
  struct Session {
    std::string identity;
    Workload workload;
    std::uint64_t last_sequence = 0;
    std::uint64_t last_requests = 0;  // sequence of its last report of requests
    wire::Set last_set;
    bool last_set_open = false;    // sent, not yet applied or refused
    std::uint32_t checkpoint = 0;  // number of the one that is not answered yet; 0: none
    bool unreachable = false;
    Time heard{};
    Time spoken{};
    TokenBucket errors;
    TokenBucket requests;
    TokenBucket messages;
    TokenBucket turn_messages;
    TokenBucket hellos;  // of its connection: goes on where a hello begins a session anew
    std::optional<ProcessIdentity> process;  // of the workload's pid at the hello
    std::string client;  // its name in the table of clients; empty: came in without a key
    Rights rights;
    Time awaited{};  // since when a report may come: the newest one, or what let it run
    MinibatchTimes times{};
    std::uint32_t refused_set = 0;  // the newest that was refused; 0: none
    int unoffered = 0;  // newest reports in a row of a batch size that is none of its hello's
  };

  Session* find(std::string_view identity);
  Session* find(WorkloadHandle workload);
  template <typename Message>
  bool send(Session& session, const Message& message) {
    wire::pack(buffer_, message);
    if (!peers_.send(session.identity, buffer_.view())) session.unreachable = true;
    return !session.unreachable;
  }
  void answer_stranger(std::string_view identity, const wire::Error& error, Time now);
  void answer(Session& session, const wire::Error& error, Time now);

  bool admit(Session* session, const Caller& caller, Time now);
  void route(Session* session, std::string_view identity, const Caller& caller, Time now,
             EventBuffer& events);
  void take(Session* session, std::string_view identity, const wire::Hello& hello,
            const Caller& caller, Time now, EventBuffer& events);
  void take(Session& session, const wire::Report& report, Time now, EventBuffer& events);
  void take(Session& session, const wire::Requests& requests, Time now, EventBuffer& events);
  void take(Session& session, const wire::Applied& applied, Time now, EventBuffer& events);
  void take(Session& session, const wire::Refused& refused, EventBuffer& events);
  bool go_back(Session& session, EventBuffer& events);
  void take(Session& session, const wire::Saved& saved, EventBuffer& events);
  void take(Session& session, const wire::Unsaved& unsaved, EventBuffer& events);
  void answer_checkpoint(Session& session, std::uint32_t checkpoint, EventType type,
                         std::string_view text, EventBuffer& events);

  void take(Session& session, const wire::TurnRequest& request, const Caller& caller, Time now);
  void take(Session& session, const wire::TurnEnd& end, Time now);
  void settle_turns(Time now);

  // Its session, until the next one is attached or goes; null: none was made.
  Session* attach(std::string_view identity, const Workload& workload, const Caller& caller,
                  Time now, EventBuffer& events);
  void detach(std::size_t position, std::string_view why, Time now, EventBuffer& events);
  void promote(Kind kind, Time now, EventBuffer& events);
  void attach_anew(Workload workload, std::string_view why, Time now, EventBuffer& events);
  bool silent(const Session& session, Time now) const;
  void give_way(WorkloadHandle reporting, Time now, EventBuffer& events);
  void make_room(Time now, EventBuffer& events);
  void drop_unreachable(Time now, EventBuffer& events);
  bool managed(Kind kind) const;

  Peers& peers_;
  IdentifyProcess identify_;
  SessionOptions options_;
  WorkloadHandle last_handle_;
  std::vector<Session> sessions_;  // in the order they attached
  TokenBucket hellos_;
  TokenBucket strangers_;          // answers to them
  TokenBucket stranger_messages_;  // of all without a session and a key
  ClientBudgets client_messages_;
  ClientBudgets client_turn_messages_;
  ClientBudgets client_hellos_;
  Turns turns_;
  Counters counters_;
  wire::FrameBuffer buffer_;
  wire::ClientMessage message_;
};

}  // namespace gearshift
