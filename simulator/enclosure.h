// How hot a simulated board becomes in its housing, and that it is slowed down where that is too
// hot.
#pragma once

#include <optional>

#include "controller/clock.h"

namespace gearshift {

struct EnclosureSpec {
  double ambient_c = 25;
  double c_per_w = 0.55;    // above it, in steady state
  double time_s = 90;       // constant of the first-order answer
  double trip_c = 99;       // from which on the board is slowed down
  double hysteresis_c = 5;  // so much below it, it is not any more
  double slowed = 0.5;      // what is left of its CPU and GPU clocks meanwhile
};

// Exact for power that is constant between two calls.
class Enclosure {
 public:
  explicit Enclosure(const EnclosureSpec& spec) : spec_(spec), temperature_c_(spec.ambient_c) {}

  void advance(double span_s, double power_w);
  double temperature_c() const { return temperature_c_; }
  bool slows() const { return slows_; }
  // After how many seconds at this power slows() becomes another; nullopt: never.
  std::optional<double> next_switch_s(double power_w) const;

  double hottest_c() const { return hottest_c_; }  // so far
  double slowed_s() const { return slowed_s_; }    // so far

 private:
  double settled_c(double power_w) const { return spec_.ambient_c + spec_.c_per_w * power_w; }

  EnclosureSpec spec_;
  double temperature_c_;
  bool slows_ = false;
  double hottest_c_ = 0;
  double slowed_s_ = 0;
};

}  // namespace gearshift
