#include "bridge/live_world.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "bridge/authenticator.h"
#include "bridge/control_endpoint.h"
#include "bridge/script_file.h"
#include "bridge/signal_watch.h"
#include "bridge/workload_endpoint.h"

namespace gearshift {
namespace {

// Requests to the control endpoint that are answered before the loop goes on.
constexpr std::size_t kMaxRequestsPerTick = 16;

// Rounded up, so that a wait does not end before its deadline and spin.
std::chrono::milliseconds timeout_until(Time deadline, Time now) {
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  return std::clamp(timeout, std::chrono::milliseconds(0), std::chrono::milliseconds(1000));
}

bool any_urgent(const EventBuffer& events, std::size_t from) {
  return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(from), events.end(),
                     [](const Event& event) { return urgent(event.type); });
}

}  // namespace

struct LiveWorld::Parts {
  Parts(const Clock& given_clock, LiveWorldOptions given)
      : clock(given_clock),
        options(std::move(given)),
        script(options.script),
        authenticator(options.keys.empty()
                          ? nullptr
                          : std::make_unique<Authenticator>(context, KeyFolder(options.keys))),
        workloads(context, options.workload_endpoint,
                  SessionOptions{options.allowed_user, options.silent_after, options.heartbeat},
                  authenticator.get()),
        control(context, options.control_endpoint, options.knobs, authenticator.get()) {
    if (options.rationale != nullptr) control.explain_from(*options.rationale);
    const auto watch = [this](void* socket, int descriptor) {
      // Where there is no script there is no such descriptor to poll.
      if (socket != nullptr || descriptor >= 0)
        items.push_back({socket, descriptor, ZMQ_POLLIN, 0});
    };
    for (const int descriptor : options.wake_descriptors) watch(nullptr, descriptor);
    for (const int descriptor : options.watched_descriptors) watch(nullptr, descriptor);
    if (options.signals != nullptr) watch(nullptr, options.signals->descriptor());
    watch(nullptr, script.descriptor());
    if (authenticator != nullptr) {
      watch(authenticator->socket().handle(), 0);
      watch(nullptr, authenticator->descriptor());
    }
    watch(control.connections().handle(), 0);
    watch(workloads.connections().handle(), 0);
    watch(control.socket().handle(), 0);
    watch(workloads.socket().handle(), 0);
  }

  // Blocks. The sockets of control and workloads come last, to be left out of a tick that has had
  // its share of their messages.
  void poll(bool requests, bool messages, std::chrono::milliseconds timeout) {
    for (zmq::pollitem_t& item : items) item.revents = 0;
    items[items.size() - 2].events = requests ? ZMQ_POLLIN : 0;
    items.back().events = messages ? ZMQ_POLLIN : 0;
    try {
      zmq::poll(items.data(), items.size(), timeout);
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) throw;  // A debugger or SIGCONT interrupts; the loop polls again.
    }
  }

  // True where a reading or an owner's answer has come.
  bool take_wakes() {
    bool woken = false;
    for (std::size_t i = 0; i < options.wake_descriptors.size(); ++i) {
      if ((items[i].revents & ZMQ_POLLIN) == 0) continue;
      std::uint64_t count = 0;
      woken |= ::read(items[i].fd, &count, sizeof count) > 0;
    }
    for (std::size_t i = 0; i < options.watched_descriptors.size(); ++i) {
      woken |= (items[options.wake_descriptors.size() + i].revents & ZMQ_POLLIN) != 0;
    }
    return woken;
  }

  // Before messages are taken, so that none of a client that is revoked counts.
  void let_in(EventBuffer& events) {
    if (authenticator == nullptr) return;
    const Time now = clock.now();
    if (authenticator->take_changes()) workloads.review(now, events);
    authenticator->answer(now);
  }

  void take_signals(EventBuffer& events) {
    if (options.signals == nullptr) return;
    while (const int signal = options.signals->take()) {
      if (signal == SIGHUP && options.script.empty()) continue;
      Event& event = events.emplace_back();
      event.signal = signal;
      if (signal == SIGHUP) {
        script.reload();
        event.type = EventType::script_changed;
      } else {
        event.type = EventType::stop;
        event.text = decltype(event.text)(signal == SIGINT ? "SIGINT" : "SIGTERM");
      }
    }
  }

  const Clock& clock;
  const LiveWorldOptions options;
  zmq::context_t context{1};
  ScriptFile script;
  std::unique_ptr<Authenticator> authenticator;  // before the sockets that rely on it
  WorkloadEndpoint workloads;
  ControlEndpoint control;
  std::vector<zmq::pollitem_t> items;
};

LiveWorld::LiveWorld(const Clock& clock, LiveWorldOptions options)
    : parts_(std::make_unique<Parts>(clock, std::move(options))) {}

LiveWorld::~LiveWorld() = default;

Time LiveWorld::wait_until(Time deadline, EventBuffer& events) {
  Parts& parts = *parts_;
  const std::size_t first = events.size();
  std::size_t messages = kMaxEventsPerTick;
  std::size_t requests = kMaxEventsPerTick;
  std::size_t answered = 0;
  for (;;) {
    const Time before = parts.clock.now();
    // A client that floods a socket is not read again before the next tick.
    parts.poll(requests > 0, messages > 0,
               timeout_until(std::min(deadline, parts.workloads.next_due(before)), before));
    parts.control.limit_connections();
    parts.workloads.limit_connections();
    const bool woken = parts.take_wakes();
    parts.take_signals(events);
    if (parts.script.descriptor() >= 0 && parts.script.take_changes()) {
      events.emplace_back().type = EventType::script_changed;
    }
    parts.let_in(events);
    answered += parts.control.drain(parts.clock.now(), requests, events);
    parts.workloads.drain(parts.clock, messages, events);
    const Time now = parts.clock.now();
    parts.workloads.advance(now, events);
    if (woken || now >= deadline || any_urgent(events, first)) return now;
    if (answered >= kMaxRequestsPerTick) return now;
  }
}

void LiveWorld::command(WorkloadHandle workload, const WorkloadCommand& command) {
  parts_->workloads.command(workload, command);
}

std::string_view LiveWorld::script() { return parts_->script.text(); }

void LiveWorld::publish(const Status& status) { parts_->control.publish(status); }

std::uint64_t LiveWorld::dropped_reports() const {
  const Sessions::Counters& counters = parts_->workloads.counters();
  return counters.dropped + counters.faults + counters.excess;
}

std::string LiveWorld::take_complaint() {
  Parts& parts = *parts_;
  std::string complaint = parts.script.take_complaint();
  if (complaint.empty() && parts.authenticator != nullptr) {
    complaint = parts.authenticator->take_complaint();
  }
  const Time now = parts.clock.now();
  if (complaint.empty()) complaint = parts.control.take_complaint(now);
  if (complaint.empty()) complaint = parts.workloads.take_complaint(now);
  return complaint;
}

}  // namespace gearshift
