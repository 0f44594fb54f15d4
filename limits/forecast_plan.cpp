#include "limits/forecast_plan.h"

#include <algorithm>
#include <cmath>

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr Duration kForecastStep = std::chrono::minutes(5);
constexpr std::size_t kLevels = 161;
constexpr int kPowers = 65;  // that are tried, evenly over the hull

}  // namespace

double mean_forecast_w(std::span<const ForecastStep> forecast, Duration begin, Duration end) {
  double sum = 0;
  for (std::size_t i = 0; i < forecast.size(); ++i) {
    const Duration from = std::max(begin, forecast[i].after);
    const Duration to = i + 1 < forecast.size() ? std::min(end, forecast[i + 1].after) : end;
    if (to > from) sum += forecast[i].power_w * seconds(to - from);
  }
  return sum / seconds(end - begin);
}

double surely_forecast(double confidence, double deviation) {
  // The quantile of the normal distribution, by halving: its distribution is in the library.
  double low = -10;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    const double z = (low + high) / 2;
    (std::erfc(-z / std::sqrt(2.0)) / 2 < confidence ? low : high) = z;
  }
  return std::max(0.0, 1 - low * deviation);
}

ForecastPlan::ForecastPlan(const PowerHull& hull, std::span<const ForecastStep> forecast,
                           double share, const ForecastBattery& battery, Duration until)
    : battery_(battery), until_(until) {
  const auto vertices = hull.vertices();
  const double lowest_w = vertices.front().power_w;
  const double span_w = vertices.back().power_w - lowest_w;
  for (int i = 0; i < kPowers; ++i) {
    const double power_w = lowest_w + span_w * i / (kPowers - 1);
    actions_.push_back({power_w, hull.samples_per_s(power_w)});
  }
  const double most_samples_per_wh = vertices[hull.most_efficient(0)].samples_per_s /
                                     vertices[hull.most_efficient(0)].power_w * kJoulesInWh;
  worth_of_reserve_ = 100 * most_samples_per_wh;
  const auto steps = static_cast<std::size_t>(
      std::max<std::int64_t>(1, (until + kForecastStep - Duration(1)) / kForecastStep));
  for (std::size_t i = 0; i < steps; ++i) {
    const Duration begin = kForecastStep * static_cast<std::int64_t>(i);
    const double given_w = share * mean_forecast_w(forecast, begin, begin + kForecastStep);
    charger_w_.push_back(given_w - battery_.other_w);
  }
  values_.assign((steps + 1) * kLevels, 0);
  for (std::size_t step = steps; step-- > 0;) {
    for (std::size_t level = 0; level < kLevels; ++level) {
      const double energy_wh =
          battery_.capacity_wh * static_cast<double>(level) / static_cast<double>(kLevels - 1);
      values_[step * kLevels + level] = best(step, energy_wh).value;
    }
  }
}

double ForecastPlan::value(std::size_t step, double energy_wh) const {
  const double place =
      std::clamp(energy_wh / battery_.capacity_wh, 0.0, 1.0) * static_cast<double>(kLevels - 1);
  const auto low = std::min(static_cast<std::size_t>(place), kLevels - 2);
  const double* const values = &values_[step * kLevels];
  return values[low] + (place - static_cast<double>(low)) * (values[low + 1] - values[low]);
}

// What is left once the board has drawn so much for a time within the step.
double ForecastPlan::after_wh(std::size_t step, double energy_wh, double power_w,
                              double time_s) const {
  double change_wh = (charger_w_[step] - power_w) * time_s / kJoulesInWh;
  if (change_wh > 0) change_wh *= battery_.charge_efficiency;
  return std::min(battery_.capacity_wh, energy_wh + change_wh);
}

ForecastPlan::Best ForecastPlan::best(std::size_t step, double energy_wh) const {
  Best found{-1e300, actions_.front().power_w};
  const double step_s = seconds(kForecastStep);
  for (const Action& action : actions_) {
    const double next_wh = after_wh(step, energy_wh, action.power_w, step_s);
    const double below_wh = std::max(0.0, battery_.reserve_wh - next_wh);
    const double total =
        action.samples_per_s * step_s + value(step + 1, next_wh) - worth_of_reserve_ * below_wh;
    if (total > found.value) found = {total, action.power_w};
  }
  return found;
}

std::size_t ForecastPlan::step_at(Duration since_start) const {
  const auto step =
      static_cast<std::size_t>(std::max(Duration::zero(), since_start) / kForecastStep);
  return std::min(step, charger_w_.size() - 1);
}

double ForecastPlan::power_w(Duration since_start, double energy_wh) const {
  return best(step_at(since_start), energy_wh).power_w;
}

double ForecastPlan::samples(Duration since_start, double energy_wh) const {
  return value(step_at(since_start), energy_wh);
}

double ForecastPlan::least_wh(Duration since_start, double energy_wh) const {
  double least_wh = energy_wh;
  Duration from = std::max(Duration::zero(), since_start);
  for (std::size_t step = step_at(from); from < until_; ++step) {
    const Duration to = std::min(until_, kForecastStep * static_cast<std::int64_t>(step + 1));
    energy_wh = after_wh(step, energy_wh, actions_.front().power_w, seconds(to - from));
    least_wh = std::min(least_wh, energy_wh);
    from = to;
  }
  return least_wh;
}

}  // namespace gearshift
