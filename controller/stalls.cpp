#include "controller/stalls.h"

#include <algorithm>
#include <cmath>

namespace gearshift {

void Stalls::add(const Minibatch& minibatch) {
  Recent& recent = recent_[index(minibatch.kind)];
  if (recent.count() >= kFewest) {
    const Duration usual = Stalls::usual(recent, minibatch.batch_size);
    if (minibatch.elapsed > kTimes * usual) {
      stalls_[stall_count_++ % kKept] = {minibatch.received, minibatch.elapsed - usual};
    }
  }
  recent.add({minibatch.elapsed, minibatch.batch_size});
}

Duration Stalls::usual(const Recent& recent, std::int32_t batch_size) {
  const auto count = static_cast<std::ptrdiff_t>(recent.count());
  auto ones = recent.ones();
  const auto median = ones.begin() + count / 2;
  std::nth_element(ones.begin(), median, ones.begin() + count, faster);
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
