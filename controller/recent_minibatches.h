// The newest minibatches of one kind: how long each took, of how many samples.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "controller/clock.h"

namespace gearshift {

struct MinibatchTime {
  Duration elapsed{};
  std::int32_t batch_size = 0;
};

inline bool faster(const MinibatchTime& one, const MinibatchTime& other) {
  return one.elapsed < other.elapsed;
}

template <std::size_t kMost>
class RecentMinibatches {
 public:
  void add(const MinibatchTime& one) { ones_[count_++ % kMost] = one; }
  std::size_t count() const { return std::min(count_, kMost); }
  // So many before the newest, fewer than count().
  const MinibatchTime& newest(std::size_t before) const {
    return ones_[(count_ - 1 - before) % kMost];
  }
  // All of them, in no order: the first count() count.
  const std::array<MinibatchTime, kMost>& ones() const { return ones_; }

 private:
  std::array<MinibatchTime, kMost> ones_{};  // number i at i % kMost
  std::size_t count_ = 0;                    // of all that came
};

}  // namespace gearshift
