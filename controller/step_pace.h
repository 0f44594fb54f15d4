// How often a search may make the guard step down: so many times a minute, and no more.
#pragma once

#include <array>
#include <cstddef>

#include "controller/clock.h"

namespace gearshift {

// Each setting over the cap is cut, by however little it is over; a script that asks for such ones
// without end would have the modes go up and down with the guard's own pace.
class StepPace {
 public:
  static constexpr std::size_t kMost = 20;  // in kSpan
  static constexpr Duration kSpan = std::chrono::minutes(1);

  // The guard steps down.
  void add(Time now) { steps_[count_++ % kMost] = now; }
  // True where it has done so kMost times in the last kSpan: nothing new is to be tried.
  bool spent(Time now) const { return count_ >= kMost && now - steps_[count_ % kMost] < kSpan; }

 private:
  std::array<Time, kMost> steps_{};  // a ring
  std::size_t count_ = 0;            // however many there were
};

}  // namespace gearshift
