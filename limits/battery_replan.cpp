// What is left of the battery, and the plan that is made of it.
#include <algorithm>
#include <cmath>

#include "limits/battery_limit.h"

namespace gearshift {
namespace {

// The most that a battery gives, of which nobody says it: of what is known to be drawn so many
// times as much.
constexpr double kMostOfKnown = 1.5;
// What a plan leaves for its own errors, above the reserve: of the energy that is left, of it while
// nobody has measured what is lost beside the board's power, and of the capacity.
constexpr double kKept = 0.02;
constexpr double kKeptUnmeasured = 0.07;
constexpr double kKeptOfCapacity = 0.005;
// A plan over a forecast is made anew where what others draw has moved by more, W.
constexpr double kLeastDrainChangeW = 0.1;

}  // namespace

BatteryTask BatteryLimit::task(Time now) const {
  BatteryTask task;
  task.aim = aim();
  const double kept_wh = share_wh(kKeptOfCapacity + checkpoint_share());
  const double above_wh = std::max(0.0, gauge_.energy_wh(now) - reserve_wh() - kept_wh);
  task.energy_j = kJoulesInWh * (1 - (drain_.measured() ? kKept : kKeptUnmeasured)) * above_wh;
  // Not at first: what lasts by so little would be found out too late to do any work.
  if (plan_.shortfall == Shortfall::none) {
    const double all_wh = std::max(0.0, gauge_.energy_wh(now) - reserve_wh());
    task.spare_j = kJoulesInWh * all_wh - task.energy_j;
  }
  task.other_w = drain_.other_w(now);
  // Or the plan would never rise above what the board drew last. Once something leaves the battery
  // what the charger gives is measured.
  if (drain_.floats(now) && !hull_.empty()) {
    task.other_w = std::min(task.other_w, -hull_.vertices().back().power_w);
  }
  task.samples = samples_left();
  if (options_.until) task.time_s = std::max(0.0, seconds(*started_ + *options_.until - now));
  return task;
}

// That the battery gives, where nobody says: by the fastest setting, or else what the board draws,
// and by what flows beside it now.
double BatteryLimit::most_w(Time now) const {
  const double board_w = hull_.empty() ? drawn_w(now).value_or(0) : hull_.vertices().back().power_w;
  const double known_w = board_w + std::max(0.0, drain_.other_w(now));
  return std::max(kMostPowerUnknownW, kMostOfKnown * known_w);
}

void BatteryLimit::replan(Time now) {
  if (table_changed_) {
    std::vector<WorkPoint> points = table_.points();
    // Alone it would be a plan that nothing is ever measured under, and who must be answered does
    // not wait.
    const bool works = std::any_of(points.begin(), points.end(),
                                   [](const WorkPoint& point) { return point.samples_per_s > 0; });
    if (options_.pause_w > 0 && works && serves_w_ <= 0) points.push_back({options_.pause_w, 0});
    hull_ = PowerHull(points);
    forecast_.reset();
    table_changed_ = false;
  }
  if (options_.most_w <= 0) gauge_.set_most_w(most_w(now));
  const BatteryTask left = task(now);
  if (options_.forecast.empty() || left.aim != BatteryAim::serve || hull_.empty()) {
    plan_ = plan_battery(hull_, left);
  } else {
    plan_forecast(left, now);
  }
  keep_serving();
  plan_within_others_.reset();
  const std::int64_t others_mw = prevailing_.others_mw.value_or(0);
  const double others_w = static_cast<double>(others_mw) / 1e3;
  if (is_power(others_mw) && needs_samples(left.aim) && others_w < plan_.mean_power_w) {
    plan_within_others_ = plan_battery(hull_.up_to(others_w), left);
  }
  planned_ = now;
}

// What lies between the plan's two powers does as much work on the mean: the turns become smaller.
void BatteryLimit::keep_serving() {
  if (plan_.shortfall == Shortfall::unknown || plan_.low.power_w >= serves_w_) return;
  const double low_w = std::min(serves_w_, plan_.mean_power_w);
  plan_.low = {low_w, hull_.samples_per_s(low_w)};
  if (low_w >= plan_.mean_power_w) plan_.high = plan_.low;
  const double span_w = plan_.high.power_w - low_w;
  plan_.high_share = span_w > 0 ? (plan_.mean_power_w - low_w) / span_w : 1;
}

ForecastBattery BatteryLimit::forecast_battery() const {
  return {.capacity_wh = gauge_.capacity_wh(options_.capacity_wh),
          .reserve_wh = reserve_wh() + share_wh(kKeptOfCapacity),
          .other_w = forecast_drain_.other_w()};
}

void BatteryLimit::learn_drain(const DrainWindow& window) {
  if (!started_) return;
  const double forecast_w =
      mean_forecast_w(options_.forecast, window.began - *started_, window.ended - *started_);
  forecast_drain_.add(window, forecast_w, forecast_battery());
}

void BatteryLimit::plan_forecast(const BatteryTask& task, Time now) {
  const ForecastBattery battery = forecast_battery();
  if (!forecast_ || std::abs(battery.other_w - forecast_other_w_) > kLeastDrainChangeW) {
    if (battery.capacity_wh <= 0) return;
    forecast_.emplace(hull_, options_.forecast,
                      surely_forecast(options_.confidence, options_.forecast_deviation), battery,
                      *options_.until);
    forecast_other_w_ = battery.other_w;
  }
  const Duration since_start = now - *started_;
  const double energy_wh = gauge_.energy_wh(now);
  const double least_wh = forecast_->least_wh(since_start, energy_wh);
  if (least_wh <= 0) {
    plan_ = plan_that_lasts_longest(hull_, task);
    return;
  }
  plan_ = plan_at(hull_, task, forecast_->power_w(since_start, energy_wh), task.time_s.value_or(0));
  if (least_wh < reserve_wh()) plan_.shortfall = Shortfall::energy;
}

}  // namespace gearshift
