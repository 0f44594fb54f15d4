// Heat that slows a board's clocks down hides how their limits were set: cpufreq and devfreq show
// what is left of a limit, and nothing tells what was asked for.
#pragma once

#include <optional>
#include <string>

#include "boards/sysroot.h"
#include "controller/clock.h"

namespace gearshift {

// The cooling devices that lower the limits of clocks and are at work, "cpufreq-cpu0 at state 3 of
// 20" and others behind commas; empty where none is, or none can be read.
std::string slowed_by_heat(Sysroot& root);

// Holds the first write back while limits cannot be read as they were set, for a minute at most.
class HeatWait {
 public:
  static constexpr Duration kMost = std::chrono::minutes(1);

  // Borrows both for life. Without a clock nothing waits.
  HeatWait(Sysroot& root, const Clock* clock) : root_(root), clock_(clock) {}

  // Before limits are saved: true where it is to be asked again later. Looks twice a second, and
  // not any more once it was false.
  bool waits();
  // Nothing is saved any more: the next write is a first one.
  void reset() {
    begun_.reset();
    over_ = false;
  }
  // What people should know, one sentence; empty where there is nothing new.
  std::string take_complaint();
  // Why waits() was true.
  const std::string& reason() const { return reason_; }

 private:
  Sysroot& root_;
  const Clock* clock_;
  std::optional<Time> begun_;  // of the wait
  bool over_ = false;          // or there was none
  Time looked_{};
  std::string reason_;
  std::string complaint_;
};

}  // namespace gearshift
