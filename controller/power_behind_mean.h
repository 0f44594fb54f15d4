// Power now, behind a sensor that shows the mean of its last while, known before that mean has come
// to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "controller/clock.h"

namespace gearshift {

// A reading is the mean of power over the last `averaging`. That while is split where the knobs
// moved and where readings were taken, and the power of each part is estimated by a Kalman filter
// (R. E. Kalman, "A new approach to linear filtering and prediction problems", 1960): each reading
// is a weighted sum of the parts, power may be anything after a move of the knobs, and wanders
// little otherwise. How far readings are trusted is learnt from the differences between those that
// share no time, while nothing changes (J. von Neumann et al., "The mean square successive
// difference", 1941); before a load was seen for a while their noise counts as 1 % at least.
class PowerBehindMean {
 public:
  // No length: the sensor shows power as it is, and nothing is ever foreseen.
  // `rounding_mw`: what a reading is off by at most, since it comes in steps.
  explicit PowerBehindMean(Duration averaging, std::int64_t rounding_mw = 0)
      : averaging_(averaging), rounding_mw_(rounding_mw) {}

  // Power in mW that the sensor showed at `taken`; one that is not newer than the last is ignored.
  void add(Time taken, std::int64_t mw);
  // The knobs are being moved, or have been: power may be another from now on.
  void change(Time now);
  // A core comes or goes, of a setting that is being applied: power may be a little another.
  void plug(Time now);
  // A workload takes its new batch size some time from now on: where readings say that power moved,
  // it may have been that.
  void await_change(Time now);
  // The least that power is, in mW: by the two newest readings, each time a standard deviation
  // below the best estimate. For two lengths of the mean after a change, which is as long as it may
  // show less than power is; nullopt otherwise, and for one length where power moved and no knob
  // did: a trainer that begins, a sensor that shows no such mean.
  std::optional<std::int64_t> least_mw(Time now) const;
  // The most that power may be, in mW: 1.75 standard deviations above the best estimate of the
  // newest reading. Known as long as least_mw.
  std::optional<std::int64_t> most_mw(Time now) const;
  // Whether the steps that readings of about `mw` come in hide more of power than their noise does,
  // as far as that is known: more readings then tell more.
  bool steps_hide_most(std::int64_t mw) const;
  // True where the sensor does average, by what its newest readings were.
  bool explains_readings(Time now) const { return count_ > 0 && now >= quiet_until_; }

 private:
  static constexpr double kDeviations = 1.15;     // below the best estimate
  static constexpr double kHidden = 1.75;         // deviations above it
  static constexpr double kMisfitDeviations = 4;  // power moved, and no knob did
  static constexpr double kStepShare = 2;         // deviations, of power
  static constexpr double kPlugShare = 0.3;
  static constexpr double kWander = 0.25;   // of the noise, while no knob moves
  static constexpr double kTiming = 0.005;  // of a mean's length; what times are known to
  static constexpr double kMostNoise = 0.1;
  static constexpr double kNewNoise = 1.0 / 32;  // its weight, a difference
  static constexpr double kMostTimes = 16;       // of the variance known so far
  static constexpr double kFinest = 1e-9;        // variances, of 0.003, of 0.1 and of 1 %
  static constexpr double kFine = 1e-6;
  static constexpr double kUnknown = 1e-4;
  static constexpr std::size_t kLeastDifferences = 8;
  static constexpr std::size_t kMost = 24;        // parts of a mean
  static constexpr std::size_t kMostSteady = 32;  // more of them a mean are not compared
  struct Part {
    Time begin;
    double mw;
  };

  void begin_part(Time begin, double variance);
  void change_by(Time now, double share);
  void drop_parts(std::size_t count);
  void weigh(Time taken, std::array<double, kMost>& weights) const;
  void follow(Time taken, double mw);
  void learn_noise(Time taken, std::int64_t mw);
  double noise_variance(double mw) const;
  double step_deviation_mw() const;

  Duration averaging_;
  std::int64_t rounding_mw_;
  std::array<Part, kMost> parts_{};  // the oldest first; each ends where the next one begins
  std::array<std::array<double, kMost>, kMost> covariance_{};
  std::size_t count_ = 0;
  Time newest_{};  // reading
  Time quiet_until_{};
  std::optional<Time> moved_;  // the newest change
  std::optional<double> least_mw_;
  double most_mw_ = 0;
  std::size_t since_change_ = 0;  // readings, of which one alone tells nothing, whatever was before
  std::optional<double> before_mw_;         // what the reading before led to
  std::array<Part, kMostSteady> steady_{};  // readings since nothing changes, a ring
  std::size_t steady_count_ = 0;            // however many there were
  double noise_share_ = 0;                  // variance, by the square of what was shown
  std::size_t differences_ = 0;
  std::size_t differences_idle_ = 0;  // of them, before the first change
};

}  // namespace gearshift
