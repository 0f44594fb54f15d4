// When a search that found nothing is made again.
#pragma once

#include <algorithm>
#include <optional>

#include "controller/clock.h"

namespace gearshift {

// A minute after the first, two after the second, then four, an hour at most. Another goal starts
// with a minute again, and so does a search after one whose choice was held for longer than it
// would wait: what has failed since is another accident.
class SecondChance {
 public:
  void arm(Time now) {
    if (found_ && now - *found_ > wait_) wait_ = kShortest;
    found_.reset();
    due_ = now + wait_;
    wait_ = std::min<Duration>(2 * wait_, kLongest);
  }
  void disarm() { due_.reset(); }
  // What a search has found is held from now on.
  void found(Time now) {
    disarm();
    if (!found_) found_ = now;
  }
  bool armed() const { return due_.has_value(); }
  bool due(Time now) const { return due_ && now >= *due_; }
  void reset() { *this = {}; }

 private:
  static constexpr Duration kShortest = std::chrono::minutes(1);
  static constexpr Duration kLongest = std::chrono::hours(1);

  std::optional<Time> due_;
  std::optional<Time> found_;  // since the newest that found nothing
  Duration wait_ = kShortest;
};

}  // namespace gearshift
