#include "cli/evaluate_requests.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "simulator/noise.h"
#include "simulator/request_run.h"
#include "trace/arrival_csv.h"

namespace gearshift {
namespace {

constexpr std::string_view kTrace = "trace:";

}  // namespace

RequestChecks::RequestChecks(const std::vector<std::string>& patterns, std::uint32_t minutes,
                             double jitter)
    : minutes_(minutes), jitter_(jitter) {
  const auto traces = std::count_if(patterns.begin(), patterns.end(),
                                    [](const std::string& one) { return one.starts_with(kTrace); });
  for (const std::string& pattern : patterns) {
    ArrivalSpec spec;
    const bool plays = pattern.starts_with(kTrace);
    if (plays) {
      spec.pattern = ArrivalPattern::trace;
      spec.times = read_arrival_times(pattern.substr(kTrace.size()));
    } else if (pattern != "poisson") {
      throw std::invalid_argument(
          fmt::format("--requests '{}': give poisson or trace:FILE", pattern));
    }
    names_.push_back(plays && traces > 1 ? pattern : pattern.substr(0, pattern.find(':')));
    patterns_.push_back(std::move(spec));
  }
}

namespace {

// Of the mode, by batch size.
std::vector<InferenceTime> infer_times(const HeldSetting& held) {
  std::vector<InferenceTime> times;
  for (const std::int32_t batch_size : held.infer->batch_sizes()) {
    const ProfileCell* cell = held.infer->find(held.mode, batch_size);
    if (cell != nullptr && cell->timed()) times.push_back({batch_size, cell->minibatch_ms});
  }
  return times;
}

std::uint64_t seed_of(std::string_view text) {
  std::uint64_t seed = 0;
  for (const char one : text) seed = mixed(seed ^ static_cast<unsigned char>(one));
  return seed;
}

}  // namespace

RequestOutcome RequestChecks::check(const HeldSetting& held, std::size_t pattern,
                                    std::uint64_t seed) const {
  RequestRun run;
  run.arrivals = patterns_[pattern];
  run.arrivals.rate_per_s = held.goal.arrivals_per_s;
  run.latency = held.goal.latency.value_or(Duration::zero());
  run.train_minibatch_ms = held.train_minibatch_ms;
  run.batch_size = held.infer_batch;
  run.jitter = jitter_;
  run.minutes = minutes_;
  run.seed = seed;
  run.infer = infer_times(held);
  const RequestRunResult result = run_requests(run);
  const RequestFigures& requests = result.whole.requests;
  RequestOutcome outcome;
  outcome.arrivals = names_[pattern];
  outcome.share_in_time = result.share_in_time;
  outcome.late_share = static_cast<double>(requests.late) / std::max(1u, requests.ended());
  outcome.latency_p99_ms = requests.latency_p99 == Duration::max()
                               ? std::numeric_limits<double>::infinity()
                               : 1e3 * seconds(requests.latency_p99);
  outcome.trained_per_s = result.trained_per_s;
  return outcome;
}

const std::vector<RequestOutcome>& RequestChecks::of(const HeldSetting& held) {
  // All that a run is made of: names are no part of it, and two tables may share them.
  std::string key =
      fmt::format("{} {} {} {} {}", held.seed, held.infer_batch, held.train_minibatch_ms,
                  held.goal.arrivals_per_s, held.goal.latency.value_or(Duration::zero()).count());
  for (const InferenceTime& time : infer_times(held)) {
    key += fmt::format(" {}:{}", time.batch_size, time.minibatch_ms);
  }
  const auto [found, added] = known_.try_emplace(key);
  if (!added) return found->second;
  // Requests of their own for each: what one sequence does to all would be counted many times.
  const std::uint64_t seed = seed_of(key);
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    found->second.push_back(check(held, i, seed));
  }
  return found->second;
}

}  // namespace gearshift
