// The socket that workloads report to: carries frames between clients and their sessions.
#pragma once

#include <cstddef>
#include <string>
#include <zmq.hpp>

#include "bridge/authenticator.h"
#include "bridge/router.h"
#include "bridge/sessions.h"
#include "bridge/token_bucket.h"
#include "controller/clock.h"
#include "controller/world.h"

namespace gearshift {

class WorkloadEndpoint final : private Peers {
 public:
  // Binds. Throws std::runtime_error as Router does. With an authenticator of the same context,
  // which must outlive this, who comes over tcp needs a key.
  WorkloadEndpoint(zmq::context_t& context, const std::string& endpoint,
                   const SessionOptions& options, const Authenticator* authenticator = nullptr,
                   IdentifyProcess identify = identify_process);
  // Says bye to every client.
  ~WorkloadEndpoint() override;
  WorkloadEndpoint(const WorkloadEndpoint&) = delete;
  WorkloadEndpoint& operator=(const WorkloadEndpoint&) = delete;

  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return router_.socket(); }
  // As Router's.
  zmq::socket_ref connections() { return router_.connections(); }
  void limit_connections() { router_.limit_connections(); }
  std::string take_complaint(Time now) { return router_.take_complaint(now); }
  // Takes what waits, `budget` messages at most, which it lowers by those it took; each is stamped
  // with the time it is taken at. Messages about turns leave nothing for the loop to do and are
  // not counted, ten thousand of them a second; nor are those of a client that sends too much,
  // twenty thousand a second, so that they cost the others no place. Never blocks.
  void drain(const Clock& clock, std::size_t& budget, EventBuffer& events);

  // After the table of clients has changed.
  void review(Time now, EventBuffer& events);
  void advance(Time now, EventBuffer& events) { sessions_.advance(now, events); }
  Time next_due(Time now) const { return sessions_.next_due(now); }
  void command(WorkloadHandle workload, const WorkloadCommand& command) {
    sessions_.command(workload, command);
  }
  const Sessions::Counters& counters() const { return sessions_.counters(); }

 private:
  bool send(std::string_view identity, std::string_view frame) override;

  Router router_;
  const Authenticator* authenticator_;
  Sessions sessions_;
  TokenBucket turns_{1000, std::chrono::microseconds(100)};
  TokenBucket excess_{4096, std::chrono::microseconds(50)};
  zmq::message_t identity_;
  zmq::message_t frame_;
};

}  // namespace gearshift
