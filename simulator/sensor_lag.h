// How a power sensor follows the true power: a running mean or a first-order lag, in virtual time.
#pragma once

#include <cstdint>
#include <deque>

#include "controller/clock.h"
#include "simulator/rail_power.h"

namespace gearshift {

// Both shapes are published for AGX Orin: 512 samples of three channels averaged in 0.43 s, and a
// step response that fits a first-order lag of 0.7 s.
enum class LagShape : std::uint8_t { boxcar, first_order };

class SensorLag {
 public:
  // `constant`: the width of the boxcar, or the time constant.
  SensorLag(LagShape shape, Duration constant);

  // The true power is `power` from `now` on. Times never go back.
  void change(Time now, const RailPower& power);
  // What the sensor's register holds at `now`, not before the last change.
  RailPower value(Time now) const;
  void set_constant(Time now, Duration constant);

 private:
  struct Step {
    Time since;
    RailPower power;
  };

  RailPower boxcar(Time now) const;
  RailPower first_order(Time now) const;

  LagShape shape_;
  Duration constant_;
  std::deque<Step> steps_;  // oldest first; one or more begin before the boxcar does
  RailPower lagged_;        // of the first-order lag at the last step's begin
};

}  // namespace gearshift
