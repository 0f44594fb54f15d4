#include "controller/stalls.h"

#include <algorithm>
#include <cmath>

namespace gearshift {

void Stalls::add(const Minibatch& minibatch) {
  Recent& recent = recent_[index(minibatch.kind)];
  if (recent.count >= kFewest) {
    const Duration usual = Stalls::usual(recent, minibatch.batch_size);
    if (minibatch.elapsed > kTimes * usual) {
      stalls_[stall_count_++ % kKept] = {minibatch.received, minibatch.elapsed - usual};
    }
  }
  recent.ones[recent.count++ % kRecent] = {minibatch.elapsed, minibatch.batch_size};
}

Duration Stalls::usual(const Recent& recent, std::int32_t batch_size) {
  const std::size_t count = std::min(recent.count, kRecent);
  std::array<One, kRecent> ones = recent.ones;
  const auto median = ones.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(ones.begin(), median, ones.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const One& one, const One& other) { return one.elapsed < other.elapsed; });
  if (batch_size <= median->batch_size) return median->elapsed;
  const double more = static_cast<double>(batch_size) / std::max(1, median->batch_size);
  return Duration(std::llround(more * static_cast<double>(median->elapsed.count())));
}

bool Stalls::explain(const RequestReport& report, Duration limit) const {
  const Time since = report.received - report.span - limit;
  Duration longer{};
  for (std::size_t i = 0; i < std::min(stall_count_, kKept); ++i) {
    if (stalls_[i].ended >= since) longer += stalls_[i].longer;
  }
  return longer > Duration::zero() && report.latency_max - longer <= limit;
}

}  // namespace gearshift
