// How the requests of a span fared: counted as they are answered, refused or dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/clock.h"

namespace gearshift {

// Of a span. A request that is not answered is late by any measure: the quantiles count it as
// infinite, Duration::max(). A quantile is the least latency that so large a share is not above.
struct RequestFigures {
  std::uint32_t arrived = 0;
  std::uint32_t served = 0;
  std::uint32_t late = 0;     // served after the limit, refused or dropped
  std::uint32_t refused = 0;  // at their arrival
  std::uint32_t dropped = 0;  // when their minibatch began
  Duration latency_p50{};     // 0 where there was no request
  Duration latency_p95{};
  Duration latency_p99{};
  Duration latency_max{};  // of those served

  std::uint32_t ended() const { return served + refused + dropped; }
};

class RequestTally {
 public:
  // 0: no limit, and only what is not answered is late.
  explicit RequestTally(Duration limit) : limit_(limit) {}

  void arrive() { ++figures_.arrived; }
  void serve(Duration latency) {
    latencies_.push_back(latency);
    if (limit_ > Duration::zero() && latency > limit_) ++figures_.late;
  }
  void refuse() { ++figures_.refused; }
  void drop() { ++figures_.dropped; }
  // Since the last take.
  std::uint32_t late() const { return figures_.late + figures_.refused + figures_.dropped; }
  // Counts what `other` has counted since its last take.
  void add(const RequestTally& other);
  // Of the requests since the last call.
  RequestFigures take();
  // The same, with the quantiles of the requests that were answered.
  RequestFigures take_served();

 private:
  RequestFigures take(std::size_t unanswered);

  Duration limit_;
  RequestFigures figures_;
  std::vector<Duration> latencies_;
};

}  // namespace gearshift
