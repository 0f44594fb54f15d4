// Bounds how often something is done: a burst, then a steady rate.
#pragma once

#include <algorithm>

#include "controller/clock.h"

namespace gearshift {

class TokenBucket {
 public:
  // `burst` at once, and one more each `period`.
  constexpr TokenBucket(int burst, Duration period)
      : burst_(burst), period_(period), tokens_(burst) {}

  // False where it would be too often.
  bool take(Time now) {
    if (tokens_ < burst_) {
      const auto earned = (now - counted_) / period_;
      tokens_ = static_cast<int>(std::min<Duration::rep>(burst_, tokens_ + earned));
      counted_ += earned * period_;
    }
    if (tokens_ == burst_) counted_ = now;
    if (tokens_ == 0) return false;
    --tokens_;
    return true;
  }

 private:
  int burst_;
  Duration period_;
  int tokens_;
  Time counted_{};
};

}  // namespace gearshift
