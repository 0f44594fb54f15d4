// How a battery that the sun charges is best spent over a day: mean power by the hour and by what
// is left, planned backwards from a forecast.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/clock.h"
#include "limits/power_hull.h"

namespace gearshift {

// What a charger is expected to give from `after` the start of the run on, until the next step.
struct ForecastStep {
  Duration after{};
  double power_w = 0;
};

// What the forecast gives on the mean from `begin` until `end` since the start, W.
double mean_forecast_w(std::span<const ForecastStep> forecast, Duration begin, Duration end);

struct ForecastBattery {
  double capacity_wh = 0;
  double reserve_wh = 0;
  double other_w = 0;  // drawn from it beside the board and against the forecast, all the while
  double charge_efficiency = 0.95;  // of what flows in, what stays
};

// The share of a forecast that the sun reaches with this confidence, where what it brings deviates
// from the forecast by a normal factor of mean 1: 1 - z deviation, 0 at least. `confidence` is
// above 0 and below 1.
double surely_forecast(double confidence, double deviation);

// Dynamic programming over the energy left (R. Bellman, 1957), backwards in steps of five minutes:
// the value of an energy at a time is the most samples that can be done from there on, and what
// falls below the reserve costs more than any work is worth. Within a step what is left of it
// counts. Mean powers evenly over the hull are tried; a plan for a day takes some 20 ms.
class ForecastPlan {
 public:
  // The hull must not be empty; the forecast counts times `share`.
  ForecastPlan(const PowerHull& hull, std::span<const ForecastStep> forecast, double share,
               const ForecastBattery& battery, Duration until);

  // The best mean power of the board, W, at a time since the start with so much left.
  double power_w(Duration since_start, double energy_wh) const;
  // Samples that can be done from then on.
  double samples(Duration since_start, double energy_wh) const;
  // The least that is ever left from then on at the hull's least power; below 0 where the battery
  // is empty before the end.
  double least_wh(Duration since_start, double energy_wh) const;

 private:
  struct Action {
    double power_w;
    double samples_per_s;
  };
  struct Best {
    double value;
    double power_w;
  };

  double value(std::size_t step, double energy_wh) const;
  // A step, or what is left of it: the last one ends with the plan.
  struct Span {
    std::size_t step;
    double time_s;
    double charger_w;  // mean, less what others draw
  };
  double given_w(Duration from, Duration to) const;
  Duration end_of(std::size_t step) const;
  Span whole(std::size_t step) const;
  Span rest(Duration since_start) const;
  double after_wh(const Span& span, double energy_wh, double power_w) const;
  Best best(const Span& span, double energy_wh) const;

  ForecastBattery battery_;
  Duration until_;
  std::vector<ForecastStep> forecast_;
  double share_;  // of the forecast that counts
  std::vector<Action> actions_;
  std::vector<double> charger_w_;  // mean of each step, less what others draw
  std::vector<double> values_;   // of kLevels energies at the beginning of each step and at the end
  double worth_of_reserve_ = 0;  // samples that a Wh below the reserve costs
};

}  // namespace gearshift
