#include "limits/forecast_plan.h"

#include <algorithm>
#include <cmath>

#include "controller/battery.h"

namespace gearshift {
namespace {

constexpr Duration kForecastStep = std::chrono::minutes(5);
constexpr Duration kLeastSpan = std::chrono::seconds(1);
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
    : battery_(battery),
      until_(std::max(until, kLeastSpan)),
      forecast_(forecast.begin(), forecast.end()),
      share_(share) {
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
  const auto steps =
      static_cast<std::size_t>((until_ + kForecastStep - Duration(1)) / kForecastStep);
  for (std::size_t step = 0; step < steps; ++step) {
    charger_w_.push_back(given_w(kForecastStep * static_cast<std::int64_t>(step), end_of(step)));
  }
  values_.assign((steps + 1) * kLevels, 0);
  for (std::size_t step = steps; step-- > 0;) {
    const Span span = whole(step);
    for (std::size_t level = 0; level < kLevels; ++level) {
      const double energy_wh =
          battery_.capacity_wh * static_cast<double>(level) / static_cast<double>(kLevels - 1);
      values_[step * kLevels + level] = best(span, energy_wh).value;
    }
  }
}

double ForecastPlan::given_w(Duration from, Duration to) const {
  return share_ * mean_forecast_w(forecast_, from, to) - battery_.other_w;
}

Duration ForecastPlan::end_of(std::size_t step) const {
  return std::min(until_, kForecastStep * static_cast<std::int64_t>(step + 1));
}

ForecastPlan::Span ForecastPlan::whole(std::size_t step) const {
  const Duration begin = kForecastStep * static_cast<std::int64_t>(step);
  return {step, seconds(end_of(step) - begin), charger_w_[step]};
}

// Behind the end it is a moment, in which all above the reserve may be spent.
ForecastPlan::Span ForecastPlan::rest(Duration since_start) const {
  const Duration from = std::max(Duration::zero(), since_start);
  const std::size_t step =
      std::min(static_cast<std::size_t>(from / kForecastStep), charger_w_.size() - 1);
  const Duration to = std::max(end_of(step), from + kLeastSpan);
  return {step, seconds(to - from), given_w(from, to)};
}

double ForecastPlan::value(std::size_t step, double energy_wh) const {
  const double place =
      std::clamp(energy_wh / battery_.capacity_wh, 0.0, 1.0) * static_cast<double>(kLevels - 1);
  const auto low = std::min(static_cast<std::size_t>(place), kLevels - 2);
  const double* const values = &values_[step * kLevels];
  return values[low] + (place - static_cast<double>(low)) * (values[low + 1] - values[low]);
}

// What is left once the board has drawn so much all the while.
double ForecastPlan::after_wh(const Span& span, double energy_wh, double power_w) const {
  double change_wh = (span.charger_w - power_w) * span.time_s / kJoulesInWh;
  if (change_wh > 0) change_wh *= battery_.charge_efficiency;
  return std::min(battery_.capacity_wh, energy_wh + change_wh);
}

ForecastPlan::Best ForecastPlan::best(const Span& span, double energy_wh) const {
  Best found{-1e300, actions_.front().power_w};
  for (const Action& action : actions_) {
    const double next_wh = after_wh(span, energy_wh, action.power_w);
    const double below_wh = std::max(0.0, battery_.reserve_wh - next_wh);
    const double total = action.samples_per_s * span.time_s + value(span.step + 1, next_wh) -
                         worth_of_reserve_ * below_wh;
    if (total > found.value) found = {total, action.power_w};
  }
  return found;
}

double ForecastPlan::power_w(Duration since_start, double energy_wh) const {
  return best(rest(since_start), energy_wh).power_w;
}

double ForecastPlan::samples(Duration since_start, double energy_wh) const {
  return best(rest(since_start), energy_wh).value;
}

double ForecastPlan::least_wh(Duration since_start, double energy_wh) const {
  double least_wh = energy_wh;
  if (since_start >= until_) return least_wh;
  const Span first = rest(since_start);
  for (std::size_t step = first.step; step < charger_w_.size(); ++step) {
    const Span span = step == first.step ? first : whole(step);
    energy_wh = after_wh(span, energy_wh, actions_.front().power_w);
    least_wh = std::min(least_wh, energy_wh);
  }
  return least_wh;
}

}  // namespace gearshift
