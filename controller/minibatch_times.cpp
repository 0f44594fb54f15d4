#include "controller/minibatch_times.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

// The one after the first takes no longer than it, in the same setting: it is waited for twice as
// long as the first took.
constexpr int kPartOfFirst = MinibatchTimes::kSlower / 2;

}  // namespace

void MinibatchTimes::add(const Minibatch& minibatch) {
  const MinibatchTime one{minibatch.elapsed, minibatch.batch_size};
  if (!std::exchange(began_, true)) {
    expected_ = {one.elapsed / kPartOfFirst, one.batch_size};
    return;
  }
  recent_.add(one);
  if (recent_.count() >= kInARow) {
    const MinibatchTime least =
        std::min({recent_.newest(0), recent_.newest(1), recent_.newest(2)}, faster);
    in_a_row_ = std::max(in_a_row_, least, faster);
  }
  expected_ = std::max(in_a_row_, slowest_but_one(), faster);
}

// Of the recent ones; the only one where there is no other.
MinibatchTime MinibatchTimes::slowest_but_one() const {
  if (recent_.count() == 1) return recent_.newest(0);
  MinibatchTime slowest, second;
  for (std::size_t i = 0; i < recent_.count(); ++i) {
    const MinibatchTime& one = recent_.ones()[i];
    second = std::max(second, std::min(slowest, one, faster), faster);
    slowest = std::max(slowest, one, faster);
  }
  return second;
}

Duration MinibatchTimes::expected(std::int32_t batch_size) const {
  const MinibatchTime& one = expected_;
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
