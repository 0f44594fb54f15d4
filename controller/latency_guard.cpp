#include "controller/latency_guard.h"

namespace gearshift {

void LatencyGuard::set_limit(std::optional<Duration> latency) {
  *this = {};
  limit_ = latency;
}

void LatencyGuard::add(const RequestReport& report) {
  newest_ = report;
  if (!limit_ || !judges(report)) return;
  judged_ = true;
  // Two reports may come in one tick: the better one behind excuses nothing.
  near_ = near_ || report.late > 0 || seconds(report.latency_p99) > kNear * seconds(*limit_);
}

void LatencyGuard::rearm_at(Time time) {
  armed_ = time;
  judged_ = false;
  near_ = false;
}

bool LatencyGuard::recovered(Time now) const {
  if (!limit_) return true;
  return judged_ ? !near_ : now > armed_ + kQuiet;
}

}  // namespace gearshift
