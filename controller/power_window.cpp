#include "controller/power_window.h"

#include <algorithm>
#include <cmath>

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

std::optional<PowerWindow::Means> PowerWindow::means(Time end) const {
  std::optional<Means> means;
  std::int64_t sum = 0;
  std::int64_t n = 0;
  for (std::size_t i = count_; i-- > 0;) {
    const Sample& sample = at(i);
    if (sample.taken > end) continue;
    if (sample.taken <= end - length_) break;
    sum += sample.mw;
    const std::int64_t mean = sum / ++n;
    means = Means{mean, std::max(mean, means ? means->highest_newest_mw : mean)};
  }
  return means;
}

std::optional<std::int64_t> PowerWindow::mean_mw(Time end) const {
  const auto found = means(end);
  return found ? std::optional(found->all_mw) : std::nullopt;
}

std::optional<std::int64_t> PowerWindow::highest_newest_mw(Time end) const {
  const auto found = means(end);
  return found ? std::optional(found->highest_newest_mw) : std::nullopt;
}

std::optional<std::int64_t> PowerWindow::settling_mw(Time end) const {
  if (count_ < 4 || end - newest() > length_) return std::nullopt;
  const auto before = settling_from(count_ - 4);
  const auto now = settling_from(count_ - 3);
  if (!before || !now || std::abs(*before - *now) > kAgrees * *now) return std::nullopt;
  return std::llround(std::min(*before, *now));
}

std::optional<double> PowerWindow::settling_from(std::size_t first) const {
  const Sample& second = at(first + 1);
  const Sample& third = at(first + 2);
  const Duration whole = third.taken - at(first).taken;
  const bool even = 2 * (second.taken - at(first).taken) > whole * 3 / 4 &&
                    2 * (third.taken - second.taken) > whole * 3 / 4;
  const auto rise_before = static_cast<double>(second.mw - at(first).mw);
  const auto rise = static_cast<double>(third.mw - second.mw);
  if (!even || rise_before <= 0 || rise < kLeastRise * static_cast<double>(second.mw)) {
    return std::nullopt;
  }
  const double ratio = rise / rise_before;
  if (ratio < kLeastRatio || ratio > kMostRatio) return std::nullopt;
  return static_cast<double>(third.mw) + rise * ratio / (1 - ratio);
}

}  // namespace gearshift
