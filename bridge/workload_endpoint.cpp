#include "bridge/workload_endpoint.h"

#include <utility>

namespace gearshift {

WorkloadEndpoint::WorkloadEndpoint(zmq::context_t& context, const std::string& endpoint,
                                   const SessionOptions& options,
                                   const Authenticator* authenticator, IdentifyProcess identify)
    : router_(context, endpoint, options.allowed_user,
              {authenticator != nullptr ? authenticator->secret_key() : "", "workloads"}),
      authenticator_(router_.keyed() ? authenticator : nullptr),
      sessions_(*this, std::move(identify), options) {}

WorkloadEndpoint::~WorkloadEndpoint() { sessions_.close(); }

void WorkloadEndpoint::drain(const Clock& clock, std::size_t& budget, EventBuffer& events) {
  while (router_.receive(identity_, frame_, budget)) {
    const std::uint64_t turns = sessions_.counters().turns;
    const Time now = clock.now();
    const Caller caller = authenticator_ != nullptr ? authenticator_->caller_of(frame_) : Caller{};
    const bool taken =
        sessions_.receive(identity_.to_string_view(), frame_.to_string_view(), now, events, caller);
    const bool turn = sessions_.counters().turns != turns;
    if (taken ? turn && turns_.take(now) : excess_.take(now)) ++budget;
  }
}

void WorkloadEndpoint::review(Time now, EventBuffer& events) {
  if (authenticator_ != nullptr) sessions_.review(authenticator_->clients(), now, events);
}

bool WorkloadEndpoint::send(std::string_view identity, std::string_view frame) {
  return router_.send(identity, frame);
}

}  // namespace gearshift
