// A setting held beside requests for hours, request by request: what latency they truly see, and
// how much is trained beside them.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/clock.h"
#include "simulator/arrivals.h"
#include "simulator/request_tally.h"

namespace gearshift {

// What a minibatch of so many requests takes.
struct InferenceTime {
  std::int32_t batch_size = 0;
  double minibatch_ms = 0;
};

struct RequestRun {
  ArrivalSpec arrivals;
  Duration latency{};             // that requests must be answered within; 0: no limit
  double train_minibatch_ms = 0;  // 0: nothing trains
  std::int32_t batch_size = 0;    // of inference
  // Smallest batch size first, `batch_size` among them; between two of them a minibatch takes what
  // the line through both says, and one of fewer requests than all what the first one takes.
  std::vector<InferenceTime> infer;
  double jitter = 0.03;  // deviation of a minibatch's time, relative; lognormal with mean 1
  std::uint32_t minutes = 60;
  std::uint64_t seed = 1;
};

struct RequestMinute {
  RequestFigures requests;
  std::uint32_t trained = 0;   // training minibatches that ended
  std::uint32_t inferred = 0;  // inference minibatches that ended
  std::uint32_t partial = 0;   // of them, with fewer requests than batch_size
  // No more than 1 % of the requests were late: the 99th percentile is within the limit.
  bool in_time(Duration limit) const {
    return limit <= Duration::zero() || requests.latency_p99 <= limit;
  }
};

// The minutes of one run, and the same figures of all of it.
struct RequestRunResult {
  std::vector<RequestMinute> minutes;
  RequestMinute whole;
  double share_in_time = 0;  // of the minutes
  double trained_per_s = 0;  // training minibatches
};

// By the rule of controller/interleaving.h, whose times are the 99th percentiles of the jitter.
// Equal arguments give equal results.
RequestRunResult run_requests(const RequestRun& run);

}  // namespace gearshift
