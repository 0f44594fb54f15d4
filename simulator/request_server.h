// Serves requests on a simulated board, and says what runs next beside them: the Plant's half of
// an interleaved run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/event.h"
#include "controller/interleaving.h"
#include "controller/world.h"
#include "simulator/request_queue.h"

namespace gearshift {

class RequestServer {
 public:
  RequestServer(const ArrivalSpec& arrivals, Duration latency, std::uint64_t seed,
                WorkloadHandle handle)
      : queue_(Arrivals(arrivals, seed), latency), whole_(latency), handle_(handle) {}

  // The accelerator is free at `now`; `times` says what may run and how long it takes. What begins;
  // Turn::wait: nothing does before wake().
  Turn choose(Time now, const InterleavingState& times);
  // When the choice is to be made again while nothing runs: at the latest start of a batch, or when
  // a request comes.
  Time wake() const { return std::min(wake_, queue_.next_arrival()); }
  // Something else has changed: it is to be made at once.
  void wake_at(Time now) { wake_ = now; }
  // Requests in the inference minibatch that began.
  std::uint32_t count() const { return count_; }
  // The minibatch under way ends at `now`, and answers its requests where it was an inference one.
  void end(Time now, Turn turn);

  // What became of requests is due twice a second, and a tenth of a second after one was late.
  Time report_due() const;
  // Appends it; nothing where no request came, waits or was answered, once that was told.
  // `free`: when the minibatch under way will have ended.
  void report(Time now, Time free, std::uint32_t set_sequence, EventBuffer& events);
  // Of all requests since the beginning.
  RequestFigures figures() const;

 private:
  RequestQueue queue_;
  RequestTally whole_;  // until the last report
  WorkloadHandle handle_;
  InterleavingState times_;
  std::uint32_t count_ = 0;
  Time wake_{};
  Time reported_{};
  bool moved_ = false;  // the last report told of requests
  std::uint64_t reports_ = 0;
};

}  // namespace gearshift
