// What power a change has led to, from the first readings of a sensor that shows the mean of its
// last while: before that mean has come to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/clock.h"
#include "controller/power_window.h"

namespace gearshift {

// A moving mean of length `averaging` answers a step of power with a ramp of that length. The step
// is fitted to the readings by least squares, and trusted as far as their noise lets. That is
// learnt from the differences between readings while nothing changes (J. von Neumann et al., "The
// mean square successive difference", 1941); before a load was seen for a while it counts as 1 % at
// least.
class PowerRamp {
 public:
  // No length: the sensor shows power as it is, and nothing is ever foreseen.
  explicit PowerRamp(Duration averaging) : averaging_(averaging), before_(averaging / 2) {}

  // Power in mW that the sensor showed at `taken`; one that is not newer than the last is ignored.
  void add(Time taken, std::int64_t mw);
  // The knobs are being moved, or have been: power may change now, and not again until the next
  // call. Of changes that follow each other within `averaging` the newest is judged.
  void change(Time now);
  // The least that power is since the change, in mW: a standard deviation of noise below the best
  // estimate. Nullopt before two readings show the change, once the mean has left it behind for as
  // long as it is, where power moved before it, and where the readings are no such ramp: those of a
  // sensor without a mean step at once, cores that come one by one make a curve.
  std::optional<std::int64_t> least_mw(Time now) const;

 private:
  static constexpr double kDeviations = 1;
  static constexpr double kMisfitDeviations = 3;
  static constexpr double kMisfitShare = 0.15;  // of what the ramp has come to
  static constexpr double kMostOfStep = 0.25;   // of the squares by which a step does not fit
  static constexpr double kLeastSquares = 0.2;  // of weights: less is mostly noise
  static constexpr double kSteadyDeviations = 2;
  static constexpr double kSteadyShare = 0.01;   // of the power before
  static constexpr double kNewNoise = 1.0 / 32;  // its weight, a difference
  static constexpr double kMostTimes = 16;       // of the variance known so far
  static constexpr double kFinest = 1e-6;        // variances, of 0.1 % and of 1 %
  static constexpr double kUnknown = 1e-4;
  static constexpr std::size_t kLeastDifferences = 8;
  static constexpr std::size_t kMost = 16;  // readings of a ramp
  struct Sample {
    double weight;  // the share of the mean that lies behind the change
    double mw;
  };

  bool was_steady(Time now) const;
  void learn_noise(std::int64_t mw);
  double deviation_mw(double power_mw) const;

  Duration averaging_;
  PowerWindow before_;
  double newest_mw_ = 0;
  std::optional<Time> moved_;  // the newest change
  Time first_{};               // of those that follow each other
  Time ends_{};                // what readings say of it until here
  double level_mw_ = 0;        // of power before the first
  double level_count_ = 0;     // readings that it is the mean of
  double base_mw_ = 0;         // what the sensor showed at the newest
  bool base_is_level_ = true;
  bool steady_before_ = false;  // power, before the first
  std::array<Sample, kMost> samples_{};
  std::size_t count_ = 0;
  std::optional<std::int64_t> steady_mw_;  // the newest reading, where nothing changes
  double noise_share_ = 0;                 // variance, by the square of what was shown
  std::size_t differences_ = 0;
  std::size_t differences_idle_ = 0;  // of them, before the first change
};

}  // namespace gearshift
