// What a policy may think, by the processor's time.
#pragma once

#include "cli/boottime_clock.h"
#include "controller/think_time.h"

namespace gearshift {

// Processor time of the thread that asks, so nobody is blamed for what else runs on the board: five
// times what all instructions of a script that only computes take on the slowest clock of a Jetson.
inline constexpr Duration kThinkTime = std::chrono::seconds(2);

class ThinkClock final : public ThinkTime {
 public:
  void begin() override {
    began_ = monotonic_since_boot();
    began_processor_ = thread_processor_time();
  }
  // A thread has run no longer than time has passed, which is told without a call of the kernel.
  bool over() override {
    return monotonic_since_boot() - began_ >= kThinkTime &&
           thread_processor_time() - began_processor_ >= kThinkTime;
  }

 private:
  Duration began_{};
  Duration began_processor_{};
};

}  // namespace gearshift
