// How a held setting fares where requests come one by one, beside what the formula promises.
#pragma once

#include <string>

namespace gearshift {

struct RequestOutcome {
  std::string arrivals;       // the pattern, without its rate: "poisson", "trace", "trace:a.csv"
  double share_in_time = 0;   // of the minutes: the 99th percentile of latency is within the limit
  double late_share = 0;      // of the requests, refused and dropped ones too
  double latency_p99_ms = 0;  // of all requests; infinite where more than 1 % were not answered
  double trained_per_s = 0;   // training minibatches
};

// A setting keeps requests in time where so many of its minutes are.
inline constexpr double kMinutesInTime = 0.99;

}  // namespace gearshift
