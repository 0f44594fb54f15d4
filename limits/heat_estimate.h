// How a thermal zone answers to the board's power, learnt from what both were.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "controller/clock.h"

namespace gearshift {

// A zone is taken for one thermal resistance and capacity: its temperature is that of its
// surroundings plus R times the power that it has felt, which is the board's power through a
// first-order filter. Some time constants are tried side by side, each for a board that was cold at
// first and for one that had felt its first power for long, with a regression of the temperature on
// the power felt, in which old samples fade (exponentially weighted least squares, L. Ljung,
// "System Identification", 1999, ch. 11); the one with the least residual counts.
class HeatEstimate {
 public:
  // Mean power in W over the `span` up to now, and the temperature in Celsius then.
  void add(double power_w, double temperature_c, Duration span);
  // Nobody knows what the board drew over the `span` up to now, because it slept or this program
  // stood still: what the zone has felt is told by its temperature in Celsius now, or, while R is
  // not known, taken for what is left of what it had felt. Nothing is learnt.
  void skip(double temperature_c, Duration span);

  // R in K/W; nullopt until power has varied, and the temperature with it.
  std::optional<double> c_per_w() const;
  // The time constant, s; of R, or an assumed one until it is known.
  double time_s() const { return best().time_s; }
  // The power that the zone has felt, W: in steady state the board's.
  double felt_w() const { return best().felt_w; }

  // The highest constant power that leaves the zone no hotter than `limit_c` after `horizon`, W.
  // What the model has wrong of the surroundings is in the temperature of now and so made good.
  // Until R is known nothing is said where the limit is further than kNear, and nearer no more than
  // what the zone has felt, less or more by its distance. May be negative.
  std::optional<double> power_w(double temperature_c, double limit_c, Duration horizon) const;

  static constexpr double kNear = 10;  // K

 private:
  struct Candidate {
    double time_s = 0;
    double felt_w = 0;
    double mean_felt = 0;
    double mean_c = 0;
    double variance_felt = 0;
    double variance_c = 0;
    double covariance = 0;

    double residual() const;
    bool tells() const;
    double felt_at(double temperature_c) const;  // W; only where it tells
  };
  const Candidate& best() const;

  static constexpr std::array<double, 9> kTimes = {5, 10, 20, 40, 80, 160, 320, 640, 1280};
  static constexpr std::size_t kStarts = 2;
  static constexpr std::size_t kAssumed = 4;
  std::array<Candidate, kStarts * kTimes.size()> candidates_{};  // warm at first, then cold
  double seen_s_ = 0;
  double samples_ = 0;
};

}  // namespace gearshift
