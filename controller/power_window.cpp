#include "controller/power_window.h"

namespace gearshift {

void PowerWindow::add(const Reading& reading) {
  if (count_ > 0 && reading.taken <= newest()) return;
  if (count_ == kMost) {
    first_ = (first_ + 1) % kMost;
    --count_;
  }
  samples_[(first_ + count_) % kMost] = {reading.taken, reading.value};
  ++count_;
}

std::optional<std::int64_t> PowerWindow::mean_mw(Time end) const {
  std::int64_t sum = 0;
  std::int64_t n = 0;
  for (std::size_t i = count_; i-- > 0;) {
    const Sample& sample = at(i);
    if (sample.taken > end) continue;
    if (sample.taken <= end - length_) break;
    sum += sample.mw;
    ++n;
  }
  if (n == 0) return std::nullopt;
  return sum / n;
}

}  // namespace gearshift
