// A pretended inference workload in virtual time: requests arrive evenly, are served batch by
// batch, and are reported every half second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "controller/event.h"
#include "controller/world.h"
#include "tests/fakes/fake_board.h"

namespace gearshift::fakes {

inline Workload server(WorkloadHandle handle = 2, std::string_view name = "mobilenet") {
  Workload workload;
  workload.handle = handle;
  workload.kind = Kind::infer;
  workload.managed = true;
  workload.batch_size = 4;
  workload.batch_sizes = {1, 4, 16};
  workload.batch_size_count = 3;
  workload.latency = std::chrono::milliseconds(400);
  workload.name = BoundedText<64>(name);
  return workload;
}

// A minibatch takes 8 ms and 2 ms a sample at 900 MHz, and inversely more below. What a full queue
// leaves behind is refused. While training runs beside, each batch waits 20 ms for its minibatch.
class FakeServer {
 public:
  FakeServer(const Hardware& hardware, const Workload& workload)
      : hardware_(hardware), workload_(workload), batch_size_(workload.batch_size) {}

  double per_s = 0;  // arrivals
  bool trains_beside = true;
  bool waits = false;  // as it was asked to: requests queue up
  double late_ms = 0;  // every answer takes so much longer, for whatever reason

  // The next minibatch takes so much longer, and so many of the requests in the next report, which
  // waited for it, are late.
  void stall(double longer_ms, std::uint32_t late) {
    stall_ms_ = longer_ms;
    late_ = late;
    latency_added_ms_ = longer_ms;
  }

  double minibatch_ms() const {
    return (8.0 + 2.0 * batch_size_) * 900000.0 / static_cast<double>(hardware_.values[1]);
  }
  // Of a request that waits for its batch to fill.
  double latency_ms() const {
    return (batch_size_ - 1) * 1e3 / per_s + minibatch_ms() + (trains_beside ? 20 : 0) + late_ms;
  }
  bool keeps_up() const { return minibatch_ms() * per_s <= 1e3 * batch_size_; }

  void command(const WorkloadCommand& command) {
    batch_size_ = command.batch_size;
    set_sequence_ = command.sequence;
    trains_beside = command.run != Run::infer;
    waits = command.run == Run::train;
  }

  // What happens from the last call until `now`.
  void produce(Time now, EventBuffer& events) {
    if (per_s <= 0 || waits) {
      next_minibatch_ = next_report_ = now;
      return;
    }
    const Duration gap = ms(std::max(batch_size_ * 1e3 / per_s, minibatch_ms()));
    for (; next_minibatch_ + gap <= now; next_minibatch_ += gap) report_minibatch(events);
    for (; next_report_ + kSpan <= now; next_report_ += kSpan) report_requests(events);
  }

 private:
  static constexpr Duration kSpan = std::chrono::milliseconds(500);
  static Duration ms(double value) { return Duration(static_cast<std::int64_t>(value * 1e6)); }

  void report_minibatch(EventBuffer& events) {
    Event event;
    event.type = EventType::minibatch;
    event.handle = workload_.handle;
    event.minibatch = {.workload = workload_.handle,
                       .kind = Kind::infer,
                       .batch_size = batch_size_,
                       .set_sequence = set_sequence_,
                       .sequence = ++sequence_,
                       .elapsed = ms(minibatch_ms() + std::exchange(stall_ms_, 0)),
                       .received = next_minibatch_};
    events.push_back(event);
  }

  void report_requests(EventBuffer& events) {
    Event event;
    event.type = EventType::requests;
    event.handle = workload_.handle;
    RequestReport& report = event.requests;
    report.workload = workload_.handle;
    report.span = kSpan;
    report.received = next_report_ + kSpan;
    due_ += per_s / 2;
    report.arrived = static_cast<std::uint32_t>(due_);
    due_ -= report.arrived;
    const double served = keeps_up() ? 1 : 1e3 * batch_size_ / per_s / minibatch_ms();
    report.served = static_cast<std::uint32_t>(report.arrived * served);
    report.refused = report.arrived - report.served;
    const bool late = latency_ms() > 1e3 * gearshift::seconds(workload_.latency);
    report.late = late ? report.arrived : report.refused;
    report.late = std::max(report.late, std::exchange(late_, 0));
    report.latency_p99 = ms(latency_ms());
    report.latency_max = ms(latency_ms() + std::exchange(latency_added_ms_, 0));
    events.push_back(event);
  }

  const Hardware& hardware_;
  const Workload workload_;
  std::int32_t batch_size_;
  std::uint32_t set_sequence_ = 0;
  std::uint64_t sequence_ = 0;
  Time next_minibatch_{};
  Time next_report_{};
  double due_ = 0;
  double stall_ms_ = 0, latency_added_ms_ = 0;
  std::uint32_t late_ = 0;
};

}  // namespace gearshift::fakes
