// What other programs write to knobs: whether that is news, and when they were last seen to.
#pragma once

#include <chrono>
#include <optional>

#include "controller/board.h"
#include "controller/clock.h"

namespace gearshift {

class OutsideWrites {
 public:
  // What is written again after so long is told of again.
  static constexpr Duration kRests = std::chrono::seconds(10);

  // One has written. False where the same was told of, and has gone on since.
  bool add(const OutsideWrite& write, Time now) {
    const bool known =
        told_ && told_->knob == write.knob && told_->theirs == write.theirs && now - seen_ < kRests;
    seen_ = now;
    if (!known) told_ = write;
    return !known;
  }
  // Whether one was seen to so short a time ago.
  bool wrote_within(Duration span, Time now) const { return told_ && now - seen_ <= span; }

 private:
  std::optional<OutsideWrite> told_;
  Time seen_{};
};

}  // namespace gearshift
