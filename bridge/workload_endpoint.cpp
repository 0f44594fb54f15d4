#include "bridge/workload_endpoint.h"

#include <utility>

#include "bridge/local_socket.h"

namespace gearshift {

WorkloadEndpoint::WorkloadEndpoint(zmq::context_t& context, const std::string& endpoint,
                                   const SessionOptions& options, ProcessOwner owner)
    : socket_(bind_router(context, endpoint, options.allowed_user)),
      sessions_(*this, std::move(owner), options) {}

WorkloadEndpoint::~WorkloadEndpoint() { sessions_.close(); }

void WorkloadEndpoint::drain(const Clock& clock, std::size_t& budget, EventBuffer& events) {
  while (receive_frame(socket_, identity_, frame_, budget)) {
    sessions_.receive(identity_.to_string_view(), frame_.to_string_view(), clock.now(), events);
  }
}

bool WorkloadEndpoint::send(std::string_view identity, std::string_view frame) {
  return send_frame(socket_, identity, frame);
}

}  // namespace gearshift
