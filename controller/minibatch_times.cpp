#include "controller/minibatch_times.h"

#include <algorithm>
#include <cmath>

namespace gearshift {
namespace {

// The one after the first takes no longer than it, in the same setting: it is waited for twice as
// long as the first took.
constexpr int kPartOfFirst = MinibatchTimes::kSlower / 2;

}  // namespace

void MinibatchTimes::add(const Minibatch& minibatch) {
  const One one{minibatch.elapsed, minibatch.batch_size};
  if (first_.batch_size == 0) {
    first_ = one;
  } else if (one.elapsed > slowest_.elapsed) {
    second_ = slowest_;
    slowest_ = one;
  } else if (one.elapsed > second_.elapsed) {
    second_ = one;
  }
}

Duration MinibatchTimes::expected(std::int32_t batch_size) const {
  One one = second_;
  if (one.batch_size == 0) one = slowest_;
  if (one.batch_size == 0) one = {first_.elapsed / kPartOfFirst, first_.batch_size};
  if (one.batch_size <= 0 || batch_size <= one.batch_size) return one.elapsed;
  const double more = static_cast<double>(batch_size) / one.batch_size;
  const double ns = more * static_cast<double>(one.elapsed.count());
  return Duration(std::llround(std::min(ns, static_cast<double>(kMostPatience.count()))));
}

Duration MinibatchTimes::patience(std::int32_t batch_size, Duration least) const {
  const Duration most = std::max(least, kMostPatience);
  const Duration one = std::min(expected(batch_size), most);
  return std::clamp(kSlower * one, least, most);
}

}  // namespace gearshift
