#include "simulator/request_tally.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// Nearest rank, of the latencies and so many infinite ones behind them.
Duration quantile(std::vector<Duration>& latencies, std::size_t unanswered, double share) {
  const std::size_t count = latencies.size() + unanswered;
  if (count == 0) return Duration::zero();
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count)));
  const std::size_t place = std::max<std::size_t>(rank, 1) - 1;
  if (place >= latencies.size()) return Duration::max();
  const auto nth = latencies.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(latencies.begin(), nth, latencies.end());
  return *nth;
}

}  // namespace

void RequestTally::add(const RequestTally& other) {
  figures_.arrived += other.figures_.arrived;
  figures_.late += other.figures_.late;
  figures_.refused += other.figures_.refused;
  figures_.dropped += other.figures_.dropped;
  latencies_.insert(latencies_.end(), other.latencies_.begin(), other.latencies_.end());
}

RequestFigures RequestTally::take() { return take(figures_.refused + figures_.dropped); }

RequestFigures RequestTally::take_served() { return take(0); }

RequestFigures RequestTally::take(std::size_t unanswered) {
  RequestFigures figures = figures_;
  figures.served = static_cast<std::uint32_t>(latencies_.size());
  figures.late += figures.refused + figures.dropped;
  figures.latency_p50 = quantile(latencies_, unanswered, 0.5);
  figures.latency_p95 = quantile(latencies_, unanswered, 0.95);
  figures.latency_p99 = quantile(latencies_, unanswered, 0.99);
  if (!latencies_.empty()) {
    figures.latency_max = *std::max_element(latencies_.begin(), latencies_.end());
  }
  figures_ = {};
  latencies_.clear();
  return figures;
}

}  // namespace gearshift
