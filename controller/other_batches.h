// Batches of another size than was asked for: they run until a loader has none of them left, and
// what they draw is not the new setting's fault.
#pragma once

#include "controller/clock.h"
#include "controller/cut_excuses.h"
#include "controller/setting.h"

namespace gearshift {

class OtherBatches {
 public:
  // All that run are as they were asked for until now.
  void begin(Time now) {
    since_ = now;
    draw_more_ = false;
  }
  // Those of the setting are asked for.
  void ask(const Setting& setting, Time now) {
    if (excuses_.excused(setting, now)) draw_more_ = true;
  }
  // Others were over the cap in the setting's mode. False where that is believed of it no more.
  bool blame(const Setting& setting, Time now) {
    draw_more_ = true;
    return excuses_.excuse(setting, now);
  }

  // When the first of them were asked to change, of those that may still run.
  Time since() const { return since_; }
  // They have been over the cap in what is asked for, or were the last time: its mode is to wait.
  bool draw_more() const { return draw_more_; }

 private:
  CutExcuses excuses_;
  Time since_{};
  bool draw_more_ = false;
};

}  // namespace gearshift
