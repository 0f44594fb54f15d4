#include "bridge/control_endpoint.h"

#include <unistd.h>

#include <utility>

#include "bridge/explanation_answer.h"
#include "bridge/status_answer.h"

namespace gearshift {
namespace {

// An operator's requests are few; a program that floods them must not hold up the loop.
constexpr std::size_t kMostRequests = 16;

}  // namespace

ControlEndpoint::ControlEndpoint(zmq::context_t& context, const std::string& endpoint,
                                 KnobSpace knobs, const Authenticator* authenticator)
    : router_(context, endpoint, ::geteuid(),
              {authenticator != nullptr ? authenticator->secret_key() : "", "control"}),
      authenticator_(router_.keyed() ? authenticator : nullptr),
      knobs_(std::move(knobs)) {}

std::size_t ControlEndpoint::drain(Time now, std::size_t& budget, EventBuffer& events) {
  std::size_t answered = 0;
  while (answered < kMostRequests && router_.receive(identity_, frame_, budget)) {
    const std::size_t before = events.size();
    if (authenticator_ == nullptr || admit(now)) {
      answer(frame_.to_string_view(), now, events);
      ++answered;
    }
    // One that does not wait for its answer gets none.
    if (!buffer_.view().empty()) router_.send(identity_.to_string_view(), buffer_.view());
    // Who asks what came of a change is answered once a tick has acted on it.
    if (events.size() > before) break;
  }
  return answered;
}

bool ControlEndpoint::admit(Time now) {
  const Caller caller = authenticator_->caller_of(frame_);
  const bool its_share = requests_.take(caller.name, now);
  const bool may = caller.rights.has(Right::change_caps);
  if (its_share && may) return true;
  buffer_.clear();
  if (its_share) {
    wire::pack(buffer_, wire::Error{wire::Text("forbidden"),
                                    wire::MessageText(lacking(caller, Right::change_caps))});
  } else if (may) {
    wire::pack(buffer_, wire::Error{wire::Text("too_many"),
                                    wire::MessageText("more than ten requests a second: ask again "
                                                      "in a second")});
  }
  return false;
}

void ControlEndpoint::answer(std::string_view frame, Time now, EventBuffer& events) {
  wire::ControlRequest request;
  if (const wire::Fault fault = wire::decode(frame, request)) {
    wire::pack(buffer_, fault.error());
    return;
  }
  if (std::holds_alternative<wire::StatusRequest>(request)) {
    const bool reasons = rationale_ != nullptr;
    wire::pack(buffer_, status_, knobs_, reasons ? rationale_->plan_now() : "",
               reasons ? rationale_->heat : "",
               reasons ? rationale_->recording_now() : RecordingState());
    return;
  }
  if (const auto* explain = std::get_if<wire::ExplainRequest>(&request)) {
    if (rationale_ != nullptr) {
      wire::pack(buffer_, *rationale_, knobs_, now, explain->from);
    } else {
      wire::pack(buffer_, wire::Error{wire::Text("unknown_type"),
                                      wire::MessageText("this daemon keeps no reasons")});
    }
    return;
  }
  if (const auto* goal = std::get_if<wire::GoalRequest>(&request)) {
    const std::string_view why = objection(status_.goal, goal->change);
    if (!why.empty()) {
      wire::pack(buffer_, wire::Error{wire::Text("invalid"), wire::MessageText(why)});
      return;
    }
  }
  Event& event = events.emplace_back();
  if (const auto* cap = std::get_if<wire::CapRequest>(&request)) {
    event.type = EventType::cap;
    event.power_mw = cap->power_mw;
  } else if (const auto* goal = std::get_if<wire::GoalRequest>(&request)) {
    event.type = EventType::goal;
    event.goal = goal->change;
    status_.goal = changed(status_.goal, goal->change);  // the next request may come before a tick
  } else {
    event.type = EventType::stop;
    event.text = decltype(event.text)("stop command");
  }
  wire::pack(buffer_, wire::Ok{});
}

}  // namespace gearshift
