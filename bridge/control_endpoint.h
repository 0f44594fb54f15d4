// The socket that an operator's programs talk to: cap, goal, status and stop.
#pragma once

#include <cstddef>
#include <string>
#include <zmq.hpp>

#include "bridge/local_socket.h"
#include "bridge/protocol.h"
#include "controller/knob.h"
#include "controller/world.h"

namespace gearshift {

class ControlEndpoint {
 public:
  // Binds, for this process's user only. Throws std::runtime_error as LocalRouter does.
  ControlEndpoint(zmq::context_t& context, const std::string& endpoint, KnobSpace knobs);

  // To be polled for ZMQ_POLLIN.
  zmq::socket_ref socket() { return router_.socket(); }
  // Answers what waits, `budget` messages at most, which it lowers by those it took. Appends cap,
  // goal and stop events. Never blocks.
  void drain(std::size_t& budget, EventBuffer& events);
  // What status requests are answered with until the next call.
  void publish(const Status& status) { status_ = status; }

 private:
  void answer(std::string_view frame, EventBuffer& events);

  LocalRouter router_;
  KnobSpace knobs_;
  Status status_;
  wire::FrameBuffer buffer_;
  zmq::message_t identity_;
  zmq::message_t frame_;
};

}  // namespace gearshift
