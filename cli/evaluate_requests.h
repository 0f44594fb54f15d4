// Holds the settings that an evaluation chose beside requests that come one by one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/goal.h"
#include "controller/profile.h"
#include "evaluation/request_outcome.h"
#include "simulator/arrivals.h"

namespace gearshift {

// What is held, and the limits it is held within.
struct HeldSetting {
  const Profile* infer = nullptr;  // times of all its batch sizes in the mode
  PowerMode mode;
  std::int32_t infer_batch = 0;
  double train_minibatch_ms = 0;
  Goal goal;               // its latency and rate of arrivals
  std::uint64_t seed = 1;  // of the row
};

class RequestChecks {
 public:
  // `patterns`: "poisson" and "trace:FILE", at each problem's own rate. Outcomes call a trace
  // "trace", and where there are several each as it is given. Throws
  // std::invalid_argument that names another one, std::runtime_error where a file cannot be used.
  RequestChecks(const std::vector<std::string>& patterns, std::uint32_t minutes, double jitter);

  bool empty() const { return patterns_.empty(); }
  // One a pattern; computed once for equal settings and limits.
  const std::vector<RequestOutcome>& of(const HeldSetting& held);

 private:
  RequestOutcome check(const HeldSetting& held, std::size_t pattern, std::uint64_t seed) const;

  std::vector<std::string> names_;
  std::vector<ArrivalSpec> patterns_;
  std::uint32_t minutes_;
  double jitter_;
  std::map<std::string, std::vector<RequestOutcome>> known_;
};

}  // namespace gearshift
