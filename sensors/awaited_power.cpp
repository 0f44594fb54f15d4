#include "sensors/awaited_power.h"

namespace gearshift {

void AwaitedPower::read(Time now, std::vector<Reading>& readings) {
  const bool due = !source_ && (!tried_ || now - *tried_ >= every_);
  if (due && !interrupted_.load(std::memory_order_relaxed)) {
    tried_ = now;
    std::vector<std::string> findings;
    source_ = open_(findings);
    why_.look_found(findings);
  }
  if (source_) {
    source_->read(now, readings);
  } else {
    readings.push_back({Quantity::power, ReadingState::missing, false, 0, 0, now});
  }
}

std::string AwaitedPower::explain(const Reading& reading) const {
  return source_ ? source_->explain(reading) : why_.text();
}

}  // namespace gearshift
