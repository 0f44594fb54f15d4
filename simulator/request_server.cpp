#include "simulator/request_server.h"

namespace gearshift {
namespace {

constexpr Duration kUsualSpan = std::chrono::milliseconds(500);
constexpr Duration kShortestSpan = std::chrono::milliseconds(100);

}  // namespace

RequestFigures RequestServer::figures() const {
  RequestTally whole = whole_;
  whole.add(queue_.tally());
  return whole.take();
}

Turn RequestServer::choose(Time now, const InterleavingState& times) {
  times_ = times;
  queue_.take_arrivals(now, now, times_);
  while (true) {
    const TurnChoice choice = next_turn(queue_.state(now, times_));
    if (choice.turn == Turn::infer) {
      count_ = queue_.begin(now, times_);
      if (count_ == 0) continue;  // all that waited was dropped
    } else if (choice.turn == Turn::wait) {
      wake_ = choice.longest_wait < Time::max() - now ? now + choice.longest_wait : Time::max();
    }
    return choice.turn;
  }
}

void RequestServer::end(Time now, Turn turn) {
  queue_.take_arrivals(now, now, times_);
  if (turn == Turn::infer) queue_.finish(now);
  wake_ = now;
}

Time RequestServer::report_due() const {
  return reported_ + (queue_.tally().late() > 0 ? kShortestSpan : kUsualSpan);
}

void RequestServer::report(Time now, Time free, std::uint32_t set_sequence, EventBuffer& events) {
  queue_.take_arrivals(now, free, times_);
  whole_.add(queue_.tally());
  const RequestFigures figures = queue_.tally().take_served();
  const Duration span = now - reported_;
  reported_ = now;
  const bool moves = figures.arrived + figures.ended() + queue_.queued() > 0;
  if (!moves && !moved_) return;
  moved_ = moves;
  Event& event = events.emplace_back();
  event.type = EventType::requests;
  event.handle = handle_;
  RequestReport& report = event.requests;
  report.workload = handle_;
  report.sequence = ++reports_;
  report.set_sequence = set_sequence;
  report.span = span;
  report.arrived = figures.arrived;
  report.served = figures.served;
  report.late = figures.late;
  report.refused = figures.refused + figures.dropped;
  report.queued = queue_.queued();
  report.latency_p50 = figures.latency_p50;
  report.latency_p95 = figures.latency_p95;
  report.latency_p99 = figures.latency_p99;
  report.latency_max = figures.latency_max;
  report.received = now;
}

}  // namespace gearshift
