// Judges whether a clock follows the value that its limits pin it to, without false alarms.
#pragma once

#include <cstdint>
#include <optional>

namespace gearshift {

// A clock that has followed may be off for one read: cpufreq notes what the hardware measured and
// corrects itself, a governor starts anew. One that stays off is told as the first value seen off,
// so that a clock that is throttled up and down is one change, not a new one at every read.
class ClockWatch {
 public:
  // `wanted` was written; until the clock has followed it once, every other value is told at once.
  void expect(std::int64_t wanted);
  // The value to report for a clock that reads `actual`, in the unit of expect(): `wanted` for one
  // that follows.
  std::int64_t judge(std::int64_t actual);

  // True within 1 %: a clock measured by counters is a little off, and no table of frequencies has
  // entries this close.
  static bool follows(std::int64_t actual, std::int64_t wanted);

 private:
  std::int64_t wanted_ = 0;
  bool followed_ = false;
  bool off_once_ = false;
  std::optional<std::int64_t> told_;
};

}  // namespace gearshift
