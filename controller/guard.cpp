#include "controller/guard.h"

#include <algorithm>

namespace gearshift {

void Guard::add(const Reading& reading) {
  if (reading.quantity != Quantity::power || reading.state != ReadingState::ok) return;
  newest_ = std::max(newest_, reading.taken);
  window_.add(reading);
}

Verdict Guard::check(Time now) const {
  if (now - newest_ > stale_after_) return Verdict::power_unknown;
  if (!cap_mw_ || now < armed_) return Verdict::within;
  const auto mean = window_.mean_mw(now);
  return mean && *mean > *cap_mw_ ? Verdict::over : Verdict::within;
}

bool Guard::recovered(Time now) const {
  if (now - newest_ > stale_after_) return false;
  if (!cap_mw_) return true;
  const auto mean = window_.mean_mw(now);
  return mean && *mean <= *cap_mw_;
}

}  // namespace gearshift
