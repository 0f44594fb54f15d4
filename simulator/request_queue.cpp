#include "simulator/request_queue.h"

#include <algorithm>

namespace gearshift {

void RequestQueue::take_arrivals(Time now, Time free, const InterleavingState& times) {
  InterleavingState met = times;
  for (; arrivals_.next() <= now; arrivals_.pop()) {
    newest_ = arrivals_.next();
    tally_.arrive();
    met.queued = queued();
    if (admits(met, std::max(free - newest_, Duration::zero()))) {
      waiting_.push_back(newest_);
    } else {
      tally_.refuse();
    }
  }
}

InterleavingState RequestQueue::state(Time now, InterleavingState times) const {
  times.queued = queued();
  times.oldest_wait = waiting_.empty() ? Duration::zero() : now - waiting_.front();
  times.since_arrival = newest_ == Time::min() ? Duration::max() : now - newest_;
  return times;
}

std::uint32_t RequestQueue::begin(Time now, const InterleavingState& times) {
  served_.clear();
  const auto most = static_cast<std::size_t>(std::max(times.batch_size, 1));
  while (!waiting_.empty() && served_.size() < most) {
    if (serves(times, now - waiting_.front())) {
      served_.push_back(waiting_.front());
    } else {
      tally_.drop();
    }
    waiting_.pop_front();
  }
  return static_cast<std::uint32_t>(served_.size());
}

void RequestQueue::finish(Time now) {
  for (const Time came : served_) tally_.serve(now - came);
  served_.clear();
}

}  // namespace gearshift
