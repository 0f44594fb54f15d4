// The socket that an operator's programs talk to: cap, goal, status and stop.
#pragma once

#include <cstddef>
#include <string>
#include <zmq.hpp>

#include "bridge/authenticator.h"
#include "bridge/client_budgets.h"
#include "bridge/protocol.h"
#include "bridge/router.h"
#include "controller/knob.h"
#include "controller/rationale.h"
#include "controller/world.h"

namespace gearshift {

class ControlEndpoint {
 public:
  // Binds, for this process's user only. Throws std::runtime_error as Router does. With an
  // authenticator of the same context, which must outlive this, who comes over tcp needs a key, and
  // the right to change caps for whatever it asks.
  ControlEndpoint(zmq::context_t& context, const std::string& endpoint, KnobSpace knobs,
                  const Authenticator* authenticator = nullptr);

  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return router_.socket(); }
  // As Router's.
  zmq::socket_ref connections() { return router_.connections(); }
  void limit_connections() { router_.limit_connections(); }
  std::string take_complaint(Time now) { return router_.take_complaint(now); }
  // Takes what waits, `budget` messages at most, which it lowers by those it took, and sixteen
  // requests at most, whose number it returns. Appends cap, goal and stop events. A client with a
  // key may ask ten times a second, after a burst of sixteen; beyond that it is answered by an
  // error, or not at all where it has no right to any answer. Never blocks.
  std::size_t drain(Time now, std::size_t& budget, EventBuffer& events);
  // What status requests are answered with until the next call.
  void publish(const Status& status) { status_ = status; }
  // What explain requests are answered from; must outlive this. Without it they are unknown.
  void explain_from(const Rationale& rationale) { rationale_ = &rationale; }

 private:
  void answer(std::string_view frame, Time now, EventBuffer& events);
  // Whether a client with a key gets an answer to what it asked. Where it does not, buffer_ is what
  // it gets instead; empty: nothing.
  bool admit(Time now);

  Router router_;
  const Authenticator* authenticator_;
  ClientBudgets requests_{TokenBucket(16, std::chrono::milliseconds(100))};
  KnobSpace knobs_;
  Status status_;
  const Rationale* rationale_ = nullptr;
  wire::FrameBuffer buffer_;
  zmq::message_t identity_;
  zmq::message_t frame_;
};

}  // namespace gearshift
