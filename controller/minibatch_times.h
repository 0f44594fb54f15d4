// How long the minibatches of a workload may well take, by those that have ended: what is waited
// for, where somebody waits for one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/clock.h"
#include "controller/event.h"
#include "controller/recent_minibatches.h"

namespace gearshift {

class MinibatchTimes {
 public:
  // A workload that says nothing for so many times what its minibatches may well take has stalled:
  // clocks that were never measured may be a tenth of those that were.
  static constexpr int kSlower = 10;
  static constexpr Duration kMostPatience = std::chrono::minutes(30);

  // In the order in which they ended; of one workload.
  void add(const Minibatch& minibatch);
  // Of one with so many samples, wherever the knobs stand: the slowest but one of the newest
  // kRecent, since a process that was stopped for an hour reports a minibatch of an hour, or what
  // three in a row ever took, since in a slow setting all are slow; and longer by the samples where
  // it was smaller. Of the first, which compiles and loads, only a part counts, until there is
  // another. Zero before any.
  Duration expected(std::int32_t batch_size) const;
  // How long one is waited for: `least`, or kSlower times what it may well take, up to
  // kMostPatience.
  Duration patience(std::int32_t batch_size, Duration least) const;

 private:
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kInARow = 3;
  MinibatchTime slowest_but_one() const;

  bool began_ = false;                 // the first has ended
  RecentMinibatches<kRecent> recent_;  // after the first
  MinibatchTime in_a_row_;             // the slowest that so many in a row took at least
  MinibatchTime expected_;
};

}  // namespace gearshift
