#include "limits/thermal_limit.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gearshift {
namespace {

constexpr Duration kThermalStep = std::chrono::seconds(1);
// After more than this between two judgements the board has slept, or the loop stood still.
constexpr Duration kThermalGap = std::chrono::seconds(5);
// A cap leaves so much room below what is allowed, and rises only where much more has been allowed
// for a while, so that searches are not restarted by every degree.
constexpr double kRoom = 0.98;
constexpr double kRises = 1.06;
constexpr Duration kRiseDwell = std::chrono::seconds(30);
// More than the board ever drew is no cap; once there is one, it goes only well above that.
constexpr double kBinds = 1.1;
constexpr double kBindsNoMore = 1.3;
// Nothing cools down by so much at once; what fell further is believed when it has stayed there for
// long.
constexpr double kMostFallC = 15;
constexpr double kMostFallCPerS = 0.5;
// One sample alone that rose by so much counts at once. It is taken back when for so long all that
// follow agree with what was before it, to so much.
constexpr Duration kTakenBackAfter = std::chrono::milliseconds(1500);
constexpr double kAgreesC = 10;

}  // namespace

bool tells_temperature(const Reading& reading) {
  return reading.state == ReadingState::ok && reading.value != 0;
}

ThermalLimit::ThermalLimit(ThermalLimitOptions options) : options_(std::move(options)) {
  for (const ThermalZoneLimit& limit : options_.zones) zones_.push_back({.limit = limit});
}

void ThermalLimit::read(const Reading& reading) {
  if (reading.quantity == Quantity::power && reading.state == ReadingState::ok) {
    power_sum_w_ += static_cast<double>(reading.value) / 1000;
    ++power_count_;
  }
  if (reading.quantity != Quantity::temperature) return;
  for (Zone& zone : zones_) {
    if (zone.limit.channel == reading.channel) take(zone, reading);
  }
}

bool ThermalLimit::Zone::cooled_too_fast(double to_c, Time taken) const {
  const double since_s = std::max(0.0, seconds(taken - read));
  return temperature_c && to_c < *temperature_c - kMostFallC - kMostFallCPerS * since_s;
}

bool ThermalLimit::Zone::take_back(double to_c, Time taken) {
  if (!before_c || std::abs(to_c - *before_c) > kAgreesC) {
    falls_back.reset();
    return false;
  }
  if (!falls_back) falls_back = taken;
  taken_back = taken - *falls_back >= kTakenBackAfter;
  return taken_back;
}

void ThermalLimit::take(Zone& zone, const Reading& reading) {
  if (reading.state == ReadingState::off) {
    zone.off = true;
    zone.temperature_c.reset();
    zone.before_c.reset();
    zone.read = std::max(zone.read, reading.taken);
    return;
  }
  if (!tells_temperature(reading)) return;
  const double temperature_c = static_cast<double>(reading.value) / 1000;
  if (zone.cooled_too_fast(temperature_c, reading.taken) &&
      !zone.take_back(temperature_c, reading.taken)) {
    return;
  }
  const bool again = zone.temperature_c && reading.taken <= zone.read;
  if (!again) {
    const bool leapt = zone.temperature_c && temperature_c > *zone.temperature_c + kMostFallC;
    zone.before_c = leapt ? zone.temperature_c : std::nullopt;
    zone.falls_back.reset();
  }
  zone.off = false;
  zone.told = true;
  zone.temperature_c = temperature_c;
  zone.read = std::max(zone.read, reading.taken);
}

bool ThermalLimit::lost(std::uint8_t channel, Time now) const {
  return judged_ && std::any_of(zones_.begin(), zones_.end(), [&](const Zone& zone) {
           return zone.limit.channel == channel && lost(zone, now);
         });
}

std::optional<double> ThermalLimit::allowed_w(const Zone& zone, Time now) const {
  if (lost(zone, now)) return 0;
  if (zone.off || !zone.temperature_c) return std::nullopt;
  return zone.estimate.power_w(*zone.temperature_c, zone.limit.limit_c, options_.horizon);
}

// The power that was read says nothing of a gap: a board that slept has felt none of it. Each zone
// has gaps of its own, in which it was off or not read, as it may be when the board wakes.
void ThermalLimit::feel(Time now) {
  const int count = std::exchange(power_count_, 0);
  const double sum_w = std::exchange(power_sum_w_, 0);
  const double power_w = count > 0 ? sum_w / count : 0;
  highest_w_ = std::max(highest_w_, power_w);
  for (Zone& zone : zones_) {
    if (zone.off || !zone.temperature_c || lost(zone, now)) continue;
    const Duration span = now - zone.felt.value_or(*judged_);
    if (span > kThermalGap) {
      zone.estimate.skip(zone.learnt_c(), span);
    } else if (count > 0) {
      zone.estimate.add(power_w, zone.learnt_c(), span);
    } else {
      continue;  // power is unknown: the span grows, and may become a gap
    }
    zone.felt = now;
  }
}

void ThermalLimit::judge(Time now) {
  feel(now);
  judged_ = now;
  const bool danger =
      std::any_of(zones_.begin(), zones_.end(), [&](const Zone& zone) { return lost(zone, now); });
  bool lifted = danger_ && !danger;
  for (Zone& zone : zones_) lifted = std::exchange(zone.taken_back, false) || lifted;
  if (lifted) cap_mw_.reset();  // what it was says nothing of heat
  danger_ = danger;
  std::optional<double> least_w;
  for (const Zone& zone : zones_) {
    const auto one_w = allowed_w(zone, now);
    if (one_w && (!least_w || *one_w < *least_w)) least_w = one_w;
  }
  follow(least_w, now);
}

void ThermalLimit::follow(std::optional<double> allowed_w, Time now) {
  if (!allowed_w || *allowed_w > (cap_mw_ ? kBindsNoMore : kBinds) * highest_w_) {
    cap_mw_.reset();
    return;
  }
  const auto room_mw = static_cast<std::int64_t>(1000 * kRoom * std::max(0.0, *allowed_w));
  const std::int64_t wanted_mw = std::max(kLowestModeMw, cap_step_down(room_mw));
  const bool loose = cap_mw_ && 1000 * *allowed_w > kRises * static_cast<double>(*cap_mw_);
  if (!loose) tight_ = now;
  const bool falls = !cap_mw_ || 1000 * *allowed_w < static_cast<double>(*cap_mw_);
  if (falls || now - tight_ >= kRiseDwell) {
    cap_mw_ = wanted_mw;
    tight_ = now;
  }
}

Limit ThermalLimit::limit(Time now) {
  if (!judged_) {
    judged_ = now;
    for (Zone& zone : zones_) zone.read = std::max(zone.read, now);
  }
  if (now - *judged_ >= kThermalStep) judge(now);
  return {.power_mw = cap_mw_, .moves = true};
}

}  // namespace gearshift
