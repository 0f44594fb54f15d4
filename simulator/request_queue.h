// The requests that wait for one inference workload, from their arrival to their answer, in virtual
// time.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "controller/clock.h"
#include "controller/interleaving.h"
#include "simulator/arrivals.h"
#include "simulator/request_tally.h"

namespace gearshift {

class RequestQueue {
 public:
  RequestQueue(const Arrivals& arrivals, Duration latency) : arrivals_(arrivals), tally_(latency) {}

  // Queues or refuses the requests that came until `now`. `times` says by which batch size, latency
  // and times it is judged; the minibatch under way ends at `free`.
  void take_arrivals(Time now, Time free, const InterleavingState& times);
  Time next_arrival() const { return arrivals_.next(); }
  // `times`, with what waits now filled in.
  InterleavingState state(Time now, InterleavingState times) const;

  // An inference minibatch begins: drops what would be late all the same, takes batch_size requests
  // at most, and returns how many; 0 where none is left.
  std::uint32_t begin(Time now, const InterleavingState& times);
  // It ends, and its requests are answered.
  void finish(Time now);

  std::uint32_t queued() const { return static_cast<std::uint32_t>(waiting_.size()); }
  RequestTally& tally() { return tally_; }
  const RequestTally& tally() const { return tally_; }

 private:
  Arrivals arrivals_;
  RequestTally tally_;
  std::deque<Time> waiting_;  // when each came, the oldest first
  std::vector<Time> served_;  // of the minibatch under way
  Time newest_ = Time::min();
};

}  // namespace gearshift
