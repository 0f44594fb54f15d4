#include "bridge/workload_endpoint.h"

#include <utility>

namespace gearshift {

WorkloadEndpoint::WorkloadEndpoint(zmq::context_t& context, const std::string& endpoint,
                                   const SessionOptions& options, ProcessOwner owner)
    : router_(context, endpoint, options.allowed_user),
      sessions_(*this, std::move(owner), options) {}

WorkloadEndpoint::~WorkloadEndpoint() { sessions_.close(); }

void WorkloadEndpoint::drain(const Clock& clock, std::size_t& budget, EventBuffer& events) {
  while (router_.receive(identity_, frame_, budget)) {
    const std::uint64_t turns = sessions_.counters().turns;
    const Time now = clock.now();
    sessions_.receive(identity_.to_string_view(), frame_.to_string_view(), now, events);
    if (sessions_.counters().turns != turns && turns_.take(now)) ++budget;
  }
}

bool WorkloadEndpoint::send(std::string_view identity, std::string_view frame) {
  return router_.send(identity, frame);
}

}  // namespace gearshift
