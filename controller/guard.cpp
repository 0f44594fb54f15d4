#include "controller/guard.h"

#include <algorithm>

namespace gearshift {
namespace {

// What readings are on their way to is known to 2 % at best.
constexpr std::int64_t kSettlingMargin = 50;

// Two intervals of a sensor that is read ten times a second: later is too late for what is over the
// cap, before that too little has been shown.
constexpr Duration kDoubtAfter = std::chrono::milliseconds(190);

// Every look until then tells a little more, and what one misses the next may find.
constexpr Duration kLooksFor = std::chrono::milliseconds(260);

}  // namespace

void Guard::add(const Reading& reading) {
  if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) return;
  newest_ = std::max(newest_, reading.taken);
  estimates_ = reading.estimate;
  window_.add(reading);
  behind_mean_.add(reading.taken, reading.value);
}

bool Guard::wants_readings(Time now) const {
  if (!doubts_ || !cap_mw_ || now - changed_ > kLooksFor) return false;
  return behind_mean_.explains_readings(now) && behind_mean_.steps_hide_most(*cap_mw_);
}

Verdict Guard::check(Time now) const {
  if (now - newest_ > stale_after_) return Verdict::power_unknown;
  if (!cap_mw_ || now < armed_) return Verdict::within;
  const auto mean = judged_mw(now);
  if (!mean || *mean <= *cap_mw_) return Verdict::within;
  return now < settled_ && falls(*mean, now) ? Verdict::within : Verdict::over;
}

// When the last window ends that holds a reading which is not stale.
Time Guard::window_end(Time now) const {
  if (window_.empty() || now - window_.newest() > stale_after_) return now;
  return std::min(now, window_.newest() + window_.length() - Duration(1));
}

std::optional<std::int64_t> Guard::judged_mw(Time now) const {
  auto mean = window_.mean_mw(now);
  // One that is older than a window tells of what is in force, unless it is of what was before.
  if (!mean && newest_ - averaging_ >= changed_) mean = power_mw(now);
  if (!mean || !cap_mw_) return mean;
  if (doubts_) mean = doubted_mw(*mean, now);
  if (const auto least = behind_mean_.least_mw(now); least && *least > *cap_mw_)
    return std::max(*mean, *least);
  if (now >= risen_ || newest_ <= rising_) return mean;
  // A mean's ramp in noise may look like a lag.
  if (behind_mean_.explains_readings(now)) return mean;
  const auto settling = window_.settling_mw(now);
  const bool breaches = settling && *settling > *cap_mw_ + *cap_mw_ / kSettlingMargin;
  return breaches ? std::max(*mean, *settling) : mean;
}

bool Guard::knows_breach(Time now) const {
  const bool known = cap_mw_ && now - changed_ >= kDoubtAfter;
  return known && behind_mean_.least_mw(now).value_or(0) > *cap_mw_;
}

// The mean, or the most that may be behind it: a while after a change by what it has shown so far,
// later by as much as a reading may be off.
std::int64_t Guard::doubted_mw(std::int64_t mean_mw, Time now) const {
  if (now - changed_ < kDoubtAfter || !behind_mean_.steps_hide_most(*cap_mw_)) return mean_mw;
  if (const auto most = behind_mean_.most_mw(now)) return std::max(mean_mw, *most);
  if (!clear(now)) return mean_mw;
  if (now - changed_ > 2 * window_.length()) return mean_mw + rounding_mw_;
  // What is not followed part by part has left the change behind in one of the sensor's means.
  const bool left_behind = window_.newest() - changed_ >= window_.length();
  return left_behind ? std::max(mean_mw, window_.newest_mw() + rounding_mw_) : mean_mw;
}

// By more than 1 % within a window: what is left to fall is then about as much (0.7 s lag, windows
// of 0.43 s).
bool Guard::falls(std::int64_t mean_mw, Time now) const {
  const auto before = window_.mean_mw(window_end(now) - window_.length());
  return before && *before - mean_mw > *cap_mw_ / 100;
}

bool Guard::recovered(Time now) const {
  if (now - newest_ > stale_after_) return false;
  if (!cap_mw_) return true;
  if (newest_ <= changed_) return false;
  const auto mean = window_.mean_mw(now);
  return mean && *mean <= *cap_mw_;
}

}  // namespace gearshift
