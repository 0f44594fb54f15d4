#include "bridge/control_client.h"

#include <utility>
#include <zmq.hpp>

#include "bridge/endpoints.h"

namespace gearshift {

ControlClient::ControlClient(std::string endpoint, std::chrono::milliseconds timeout)
    : endpoint_(endpoint.empty() ? control_endpoint_to_connect() : std::move(endpoint)),
      timeout_(timeout) {}

void ControlClient::cap(std::int64_t power_mw) {
  wire::pack(buffer_, wire::CapRequest{power_mw});
  wire::decode_ok(ask());
}

void ControlClient::goal(const GoalChange& change) {
  wire::pack(buffer_, wire::GoalRequest{change});
  wire::decode_ok(ask());
}

wire::StatusAnswer ControlClient::status() {
  wire::pack(buffer_, wire::StatusRequest{});
  return wire::decode_status(ask());
}

void ControlClient::stop() {
  wire::pack(buffer_, wire::StopRequest{});
  wire::decode_ok(ask());
}

std::string ControlClient::ask() {
  zmq::context_t context(1);
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(wire::kMaxFrameBytes));
  socket.set(zmq::sockopt::rcvtimeo, static_cast<int>(timeout_.count()));
  try {
    socket.connect(endpoint_);
  } catch (const zmq::error_t& error) {
    throw std::runtime_error("endpoint '" + endpoint_ + "': " + error.what() +
                             "; give one like ipc:///run/gearshift/control.ipc");
  }
  const std::string_view request = buffer_.view();
  socket.send(zmq::const_buffer(request.data(), request.size()), zmq::send_flags::none);
  zmq::message_t answer;
  if (!socket.recv(answer)) {
    throw UnreachableError("no daemon answers at " + endpoint_ +
                           "; is gearshift run running? Where it has a --control of its own, give "
                           "the same here; a daemon that root started answers root only");
  }
  return answer.to_string();
}

}  // namespace gearshift
